"""Kernels compiled once on a machine: what makes Numba's disk cache find them again, and never find stale ones.

Numba's key of a compiled function holds the file it stands in and the values in its closure, and nothing of what is
inlined into it from elsewhere. So a kernel carries a number in its closure that changes with any source of the kernel
and with its variant; and what is inlined reaches it as a global name, because a compiled function in a closure has an
identity that is new in every process, and no entry of the cache would ever be found again.
"""

import gc
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FunctionType
from typing import Any

import llvmlite.binding
from numba import njit
from numba.core.compiler_lock import global_compiler_lock

from core.kernel.layout import Contact, Law
from core.kernel.mathops import FASTMATH

try:
    import fcntl
except ImportError:
    fcntl = None

llvmlite.binding.set_option("servobench", "-force-vector-interleave=2")
"""A step is one long chain of dependent operations: two vectors of candidates side by side hide its latency, which
LLVM's cost model does not see. Four are 1.4 times slower, as their numbers no longer fit into the registers."""

_SOURCES = zlib.crc32(
    b"".join([__name__.encode(), *(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))])
)
"""Of the kernel's files, and of its name: what is kept imports its modules by name, see `servobench`."""


def fingerprint(law: Law, full: bool, contact: Contact = Contact.RIGID, leapfrog: bool = False) -> int:
    """Return a positive number that stands for the sources of the kernel and for one variant of it."""
    return ((_SOURCES * (max(Law) + 1) + law) * (max(Contact) + 1) + contact) * 4 + 2 * leapfrog + full + 1


def step(*_: float) -> tuple[float, ...]:
    """Stand in kernels for the step they are compiled with; see `core.kernel.step`."""
    raise NotImplementedError


def compiled(kernel: Callable[..., None], step: Callable[..., tuple[float, ...]]) -> Callable[..., None]:
    """Return a kernel compiled for the disk cache, with its step."""
    assert isinstance(kernel, FunctionType)
    names = {**kernel.__globals__, "step": step}
    bound = FunctionType(kernel.__code__, names, kernel.__name__, kernel.__defaults__, kernel.__closure__)
    bound.__qualname__ = kernel.__qualname__
    bound.__module__ = kernel.__module__
    return kept_on_disk(bound, fastmath=FASTMATH, error_model="numpy", nogil=True)


def kept_on_disk(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Return a function compiled with Numba's options and kept in its disk cache.

    Of several processes that need it at once one compiles it, the others wait for what it writes. Where no folder can
    be written, each process compiles for itself.
    """
    try:
        dispatcher: Any = njit(**options, cache=True)(function)
    except RuntimeError:
        return njit(**options)(function)
    lock, compile = Path(dispatcher.stats.cache_path, f"{function.__module__}.lock"), dispatcher.compile

    def compile_alone(signature: Any) -> Any:
        with global_compiler_lock, _held(lock), _uncollected():
            return compile(signature)

    dispatcher.compile = compile_alone
    return dispatcher


def _held(lock: Path) -> ExitStack:
    """Return a file's lock, held until it is closed or its process ends; nothing where there can be none."""
    stack = ExitStack()
    with suppress(OSError):
        lock.parent.mkdir(parents=True, exist_ok=True)
        file = stack.enter_context(lock.open("w"))
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
    return stack


@contextmanager
def _uncollected() -> Iterator[None]:
    """Collect no garbage meanwhile: looking through all that a compiler makes takes a seventh of its time."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def cache_folder() -> Path | None:
    """The folder that keeps the kernels' compiled code; None where none can be written."""
    path = kept_on_disk(step).stats.cache_path  # pyright: ignore[reportFunctionMemberAccess]
    return None if path is None else Path(path)
