"""`python -m bench_gui` is `bench`."""

from bench_gui.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
