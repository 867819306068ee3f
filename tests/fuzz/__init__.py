"""Fuzzing of everything that takes bytes from outside.

`parsers/` holds one `Parser` for each, `seeds/` what it starts from, `findings/` what once broke one; `test_parsers.py`
replays both and tries a few mutants. `python -m tests.fuzz` (`make fuzz`) runs for long, see `__main__`.
"""
