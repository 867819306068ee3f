"""Kernels compiled once per machine: Numba's disk cache has to find them again, and never find outdated ones.

Compiled code is kept in the user's cache folder under a checksum of the sources it may contain, so that another clone
or a later version of the program finds what has not changed. Numba identifies a compiled function by its file and the
values in its closure. Code that is inlined from other files does not count. A kernel therefore has a number in its
closure that changes with any source of the kernel and with its variant. Inlined code reaches it as a global name: a
compiled function in a closure has another identity in every process, and the cache would never find an entry again.
"""

import gc
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FunctionType
from typing import Any

import llvmlite.binding
import numba
from numba import config, njit
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.compiler_lock import global_compiler_lock
from numba.misc.appdirs import user_cache_dir

from core.base.announcements import announce
from core.kernel.layout import Contact, Law
from core.kernel.mathops import FASTMATH

try:
    import fcntl
except ImportError:
    fcntl = None


def _hash_of(folder: Path) -> int:
    """Hash of a folder's modules and of this one's name: cached code imports its modules by name, see `servobench`."""
    return zlib.crc32(b"".join([__name__.encode(), *(path.read_bytes() for path in sorted(folder.glob("*.py")))]))


_SOURCES = _hash_of(Path(__file__).parent)
COMPILING = "compiling the simulation, about 30 s, once"
"""Announcement of a compilation, made only if the disk cache lacks the kernel."""
LONGEST_KEPT = 180 * 86400.0
"""Age from which compiled code is removed, since versions of the program leave theirs behind [s]."""


class _Locator(_CacheLocator):
    """Names compiled code by the sources in its own folder and in the kernel's, not by where they are.

    It is kept below `NUMBA_CACHE_DIR` if that is set, otherwise in the user's cache folder of the program.
    """

    def __init__(self, file: str) -> None:
        self._py_file = file  # named in Numba's warnings
        self._sources = f"{_SOURCES:08x}{_hash_of(Path(file).parent):08x}"

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> "_Locator | None":
        """Return the locator of a function; None if its folder cannot be written."""
        locator = cls(py_file)
        try:
            locator.ensure_cache_path()
        except OSError:
            return None
        return locator

    def get_cache_path(self) -> str:
        chosen: str = config.CACHE_DIR  # pyright: ignore[reportAttributeAccessIssue]
        return str(Path(chosen or user_cache_dir("servobench", appauthor=False), "kernels"))

    def get_source_stamp(self) -> str:
        return self._sources

    def get_disambiguator(self) -> str:
        return f"{self._sources}-{numba.__version__}"  # so that two environments do not replace each other's


class _Implementation(CompileResultCacheImpl):
    _locator_classes = [_Locator, *CompileResultCacheImpl._locator_classes]  # noqa: RUF012 - as Numba declares it


class _Cache(FunctionCache):
    _impl_class = _Implementation

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function; announce that it will be compiled if there is none."""
        found = super().load_overload(sig, target_context)
        if found is None:
            announce(COMPILING)
        return found


def fingerprint(
    law: Law, full: bool, contact: Contact = Contact.RIGID, leapfrog: bool = False, play: bool = False,
    memory: bool = False, moving: bool = False,
) -> int:  # fmt: skip
    """Return a positive number that identifies the sources of the kernel and one variant of it."""
    variant = 16 * memory + 8 * moving + 4 * play + 2 * leapfrog + full
    return ((_SOURCES * (max(Law) + 1) + law) * (max(Contact) + 1) + contact) * 32 + variant + 1


def step(*_: float) -> tuple[float, ...]:
    """Stand for the step with which a kernel is compiled; see `core.kernel.step`."""
    raise NotImplementedError


def compiled(
    kernel: Callable[..., None], step: Callable[..., tuple[float, ...]], vectors: int = 2
) -> Callable[..., None]:
    """Return a kernel compiled with its step, for the disk cache.

    A step is one long chain of dependent operations. Two or four vectors of candidates side by side hide its latency,
    which LLVM's cost model does not account for. Four take 0.8 of the time of two for a step without the command path,
    and up to 1.3 of it with the path, whose numbers do not fit into the registers.
    """
    assert isinstance(kernel, FunctionType)
    names = {**kernel.__globals__, "step": step}
    bound = FunctionType(kernel.__code__, names, kernel.__name__, kernel.__defaults__, kernel.__closure__)
    bound.__qualname__ = kernel.__qualname__
    bound.__module__ = kernel.__module__
    return kept_on_disk(bound, vectors=vectors, fastmath=FASTMATH, error_model="numpy", nogil=True)


def kept_on_disk(
    function: Callable[..., Any], *, folder: Path | None = None, vectors: int = 2, **options: Any
) -> Callable[..., Any]:
    """Return a function compiled with Numba's options and kept in its disk cache.

    If several processes need it at once, one compiles it and the others wait for the result. Without a writable folder,
    each process compiles for itself.

    Args:
        function: Function to compile; its own file is known to Numba.
        folder: Folder of the other modules whose code it contains; after a change in one it is compiled again.
        vectors: Number of vectors that its loops compute side by side.
        options: Numba's options.
    """
    if folder is not None:
        function.__qualname__ += f"_{_hash_of(folder):x}"
    dispatcher: Any = njit(**options)(function)
    try:
        dispatcher._cache = _Cache(function)
    except RuntimeError:
        return dispatcher
    lock, compile = Path(dispatcher.stats.cache_path, f"{function.__module__}.lock"), dispatcher.compile

    def compile_alone(signature: Any) -> Any:
        with global_compiler_lock, _held(lock), _uncollected():
            llvmlite.binding.set_option("servobench", f"-force-vector-interleave={vectors}")
            result = compile(signature)
            if dispatcher.stats.cache_misses:
                _remove_old(lock.parent)
            return result

    dispatcher.compile = compile_alone
    return dispatcher


def _remove_old(folder: Path) -> None:
    """Remove compiled code that has become older than LONGEST_KEPT; what is still used is compiled again."""
    for path in folder.glob("*.nb?"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > LONGEST_KEPT:
                path.unlink()


def _held(lock: Path) -> ExitStack:
    """Return a file's lock, held until it is closed or its process ends; empty where locking is not possible."""
    stack = ExitStack()
    with suppress(OSError):
        lock.parent.mkdir(parents=True, exist_ok=True)
        file = stack.enter_context(lock.open("w"))
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:  # another process compiles
                announce(COMPILING)
                fcntl.flock(file, fcntl.LOCK_EX)
    return stack


@contextmanager
def _uncollected() -> Iterator[None]:
    """Disable garbage collection during compilation, of which it takes a seventh of the time."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def cache_folder() -> Path | None:
    """Return the folder of the kernels' compiled code; None if no folder is writable."""
    path = kept_on_disk(step).stats.cache_path  # pyright: ignore[reportFunctionMemberAccess]
    return None if path is None else Path(path)
