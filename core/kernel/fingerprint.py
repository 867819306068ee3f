"""A number that changes with any source of the kernel.

Numba's disk cache looks at the file of the outermost function only. Kernels carry this number in their closure, which
is part of the cache's key, so that a change of a function that was inlined is never missed.
"""

import zlib
from pathlib import Path

KERNEL_FINGERPRINT = zlib.crc32(b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))))
