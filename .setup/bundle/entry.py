"""What the bundle's programs run: `bench`, with the processes it starts in the same executable."""

import multiprocessing
import sys

from bench_gui.cli import main

if __name__ == "__main__":
    multiprocessing.freeze_support()
    sys.exit(main())
