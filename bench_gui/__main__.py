"""Entry point of `python -m bench_gui`, the same as `bench`."""

from bench_gui.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
