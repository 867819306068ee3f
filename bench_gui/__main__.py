"""`python -m bench_gui` is `bench`."""

from bench_gui.cli import main

raise SystemExit(main())
