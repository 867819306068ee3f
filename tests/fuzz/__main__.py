"""The fuzzers by name, what `make fuzz` runs: `python -m tests.fuzz [PARSER …] [--minutes N]`.

Without a name all parsers run, one after the other, each in a process of its own for N minutes of processor time,
guided by coverage where atheris is installed. Findings are written to `tests/fuzz/findings/<parser>/`, and the exit
code is 1 when there are any.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.campaign import HEAD, fuzz, outcomes, row
from tests.fuzz.parsers import PARSERS, parser_named


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz, replay an input, or print the table of what was done so far."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description="Fuzz everything that takes outside bytes."
    )
    parser.add_argument("parser", nargs="*", metavar="PARSER", help=f"of {', '.join(PARSERS)}; default: all")
    parser.add_argument("--minutes", type=float, default=10.0, metavar="N", help="processor time of each (%(default)g)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="parsers at a time (%(default)s)")
    parser.add_argument("--blind", action="store_true", help="by mutation alone, as where there is no atheris")
    parser.add_argument("--table", action="store_true", help="only print what was done so far")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="only give this input to the parser named")
    chosen = parser.parse_args(arguments)
    if unknown := [name for name in chosen.parser if name not in PARSERS]:
        parser.error(f"no parser {unknown[0]}; there are {', '.join(PARSERS)}")
    if chosen.replay is not None:
        if len(chosen.parser) != 1:
            parser.error("--replay needs the name of one parser")
        parser_named(chosen.parser[0]).parse(chosen.replay.read_bytes())
        return 0
    if chosen.table:
        done = outcomes()
        print("\n".join([HEAD, *map(row, done)]))
    else:
        done = fuzz(chosen.parser or list(PARSERS), chosen.minutes, chosen.jobs, guided=not chosen.blind)
    return 1 if any(outcome.findings for outcome in done) else 0


if __name__ == "__main__":
    sys.exit(main())
