"""Fleet work on Dask distributed: on this machine's processors, or on any cluster with a scheduler address.

A unit's recordings are scattered once, so its tasks stay small. Workers may die at any time: their tasks are submitted
again, and recordings that only they held are scattered again. The driver receives results as soon as they are done, so
a lost scheduler costs only the running tasks.
"""

# pyright: basic

from __future__ import annotations

import contextlib
import logging
import math
import queue
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from copy import deepcopy
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from core.base.errors import InputError
from core.fleet.driver import Done, outcome
from core.fleet.plan import LoadUnit, UnitFacts
from core.fleet.work import Warm, Work
from core.identification.search.objective import available_threads
from core.motion.recording import Recording

if TYPE_CHECKING:
    from distributed import Client, Future

QUEUED = 3
"""Tasks submitted per worker thread, so that no thread waits for the driver."""
MOST_TRIES = 20
"""Limit of worker deaths during one task: after that, the task itself may be the cause and is not retried."""
PATIENCE = 60.0
"""Time for which a scheduler may be unreachable or without workers [s]."""
CONNECTING = 30.0
"""Timeout of a connection to the scheduler [s]."""
LOOK_PERIOD = 1.0
"""Interval between counts of the workers [s]."""
SETTINGS = {
    # Dask must not give up on a task after worker deaths; MOST_TRIES decides.
    "distributed.scheduler.allowed-failures": 10 * MOST_TRIES,
    # Monitoring would cost as much as one worker: sampled stacks, waits for the interpreter's lock, and a clock that
    # wakes each process 50 times a second.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.admin.tick.interval": "2s",
    "distributed.admin.tick.cycle": "10s",
    # Dask makes workers return every freed page at once, which slows fits, as they allocate the same memory again.
    # Once one threshold is set, the C library no longer adapts the other, so both are set.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 256 * 2**20,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 32 * 2**20,
    # No status pages, which any user of the machine could read.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.nanny.http.routes": [],
    # Compiling a kernel blocks a worker's loop; that needs no warning.
    "distributed.admin.tick.limit": "300s",
}


@contextlib.contextmanager
def cluster(load: LoadUnit, warm: Warm, *, scheduler: str = "", workers: int | None = None) -> Iterator[DaskExecutor]:
    """Open an executor on the cluster at a scheduler's address, or on worker processes of this machine.

    Args:
        load: Reads a unit's recordings.
        warm: Called once in each worker before its first task.
        scheduler: Address of the scheduler; empty for local worker processes.
        workers: Number of local processes. None: one per processor.

    Raises:
        InputError: Dask is missing, no scheduler answers at the address, or its workers have other versions.
    """
    try:
        import dask.config
        from distributed import Client, LocalCluster
        from distributed.security import Security

        # Anyone who reaches a scheduler can run programs. Only holders of a key made for this run can reach it.
        security = None if scheduler else Security.temporary()
    except ImportError:
        raise InputError(
            "several processes need Dask, which is not installed: pip install 'servobench[cluster]'"
        ) from None
    with contextlib.ExitStack() as stack:
        # A copy, because a scheduler started meanwhile in this process appends its routes to the list.
        stack.enter_context(dask.config.set(deepcopy(SETTINGS)))
        stack.enter_context(_quiet())
        if scheduler:
            try:
                client = Client(scheduler, timeout=CONNECTING, set_as_default=False)
            except (OSError, ValueError, TimeoutError) as error:
                raise InputError(
                    f"no Dask scheduler answers at {scheduler} ({error or type(error).__name__}); start one with: "
                    "dask scheduler, and workers with: dask worker ADDRESS --nthreads 1"
                ) from None
        else:
            local = LocalCluster(
                n_workers=workers or available_threads(),
                threads_per_worker=1,
                processes=True,
                dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False},
                memory_limit=0,
                host="tls://127.0.0.1",
                security=security,
                silence_logs=logging.CRITICAL,
            )
            stack.callback(local.close)
            client = Client(local, set_as_default=False)
        stack.callback(client.close)
        _check_workers(client)
        client.register_plugin(_warming(warm))
        executor = DaskExecutor(client, load)
        stack.callback(executor.cancel)
        yield executor


class DaskExecutor:
    """Executor on a Dask cluster; see `cluster`."""

    def __init__(self, client: Client, load: LoadUnit) -> None:
        self._client = client
        self._load = load
        self._data: dict[str, Future] = {}
        """Recordings on the cluster by unit."""
        self._tasks: dict[str, tuple[UnitFacts, Work, Future, int]] = {}
        """Submitted tasks by key, with the number of the attempt."""
        self._finished: queue.SimpleQueue[tuple[str, Future]] = queue.SimpleQueue()
        self._notes: list[str] = []
        self._threads = 0
        self._looked = -math.inf
        self._staffed = time.monotonic()
        """Time at which workers were last present."""

    @property
    def capacity(self) -> int:
        """Number of tasks accepted at once, from the current number of threads."""
        self._count_threads()
        return QUEUED * max(1, self._threads)

    def submit(self, key: str, unit: UnitFacts, work: Work) -> None:
        """Submit a task; raise ServoBenchError if the recordings cannot be read."""
        self._hand_out(key, unit, work, 1)

    def finished(self, timeout: float) -> list[Done]:
        """Return tasks that finish within `timeout` [s]; raise InputError if the cluster is gone for good."""
        done: list[Done] = []
        wait = timeout
        while True:
            try:
                key, future = self._finished.get(timeout=wait) if wait else self._finished.get_nowait()
            except queue.Empty:
                break
            wait = 0.0
            outcome = self._outcome(key, future)
            if outcome is not None:
                done.append(outcome)
        if not done:
            self._count_threads()
            if time.monotonic() - self._staffed > PATIENCE:
                raise _deserted()
        return done

    def news(self) -> list[str]:
        """Return and clear the notes on lost workers."""
        notes, self._notes = self._notes, []
        return notes

    def release(self, unit: UnitFacts) -> None:
        """Release a unit's recordings on the cluster."""
        self._data.pop(unit.name, None)

    def cancel(self) -> None:
        """Cancel all running tasks."""
        futures = [future for _, _, future, _ in self._tasks.values()]
        self._tasks.clear()
        self._data.clear()
        with contextlib.suppress(Exception):
            self._client.cancel(futures)

    def _hand_out(self, key: str, unit: UnitFacts, work: Work, attempt: int) -> None:
        future = self._client.submit(
            _do, key, work, self._recordings(unit), key=f"{key}-{attempt}", pure=False, retries=0
        )
        self._tasks[key] = (unit, work, future, attempt)
        future.add_done_callback(lambda future, key=key: self._finished.put((key, future)))

    def _recordings(self, unit: UnitFacts) -> Future:
        """Return a unit's recordings on the cluster; scatter them if they are missing."""
        known = self._data.get(unit.name)
        if known is None or known.status in ("cancelled", "lost", "error"):
            known = self._scattered(list(self._load(unit)))
            self._data[unit.name] = known
        return known

    def _scattered(self, recordings: list[Recording]) -> Future:
        """Scatter recordings to a worker; raise InputError if there is no worker within PATIENCE."""
        begun = time.monotonic()
        while True:
            self._await_scheduler()
            try:
                return _done(self._client.scatter([recordings], hash=False))[0]
            except (TimeoutError, OSError):
                if time.monotonic() - begun > PATIENCE:
                    raise _deserted() from None

    def _outcome(self, key: str, future: Future) -> Done | None:
        """Return a future's outcome; None if it is obsolete or its task was submitted again."""
        from distributed import KilledWorker

        if key not in self._tasks or self._tasks[key][2] is not future:
            return None
        unit, work, _, attempt = self._tasks[key]
        try:
            outcome: Done = future.result()
        except (CancelledError, KilledWorker, OSError, TimeoutError) as error:
            if attempt >= MOST_TRIES:
                raise InputError(
                    f"{unit.name}: workers died {attempt} times during the same task ({type(error).__name__}); check "
                    "their logs. Finished results are kept: start again to continue"
                ) from None
            self._await_scheduler()
            self._notes.append(f"{unit.name}: a worker was lost, its task is submitted again")
            self._data.pop(unit.name, None)
            self._hand_out(key, unit, work, attempt + 1)
            return None
        del self._tasks[key]
        return outcome

    def _await_scheduler(self) -> None:
        """Wait for a lost scheduler to return; raise InputError if it does not."""
        begun = time.monotonic()
        while self._client.status != "running":
            if self._client.status == "closed" or time.monotonic() - begun > PATIENCE:
                raise InputError(
                    "the Dask scheduler no longer answers. Finished results are kept: start again to continue"
                ) from None
            time.sleep(0.1)

    def _count_threads(self) -> None:
        now = time.monotonic()
        if now - self._looked < LOOK_PERIOD:
            return
        self._looked = now
        self._await_scheduler()
        with contextlib.suppress(OSError, TimeoutError):
            self._threads = sum(_done(self._client.nthreads()).values())
            if self._threads:
                self._staffed = now


def _deserted() -> InputError:
    return InputError(
        f"the cluster has had no workers for {PATIENCE:.0f} s; start some. Finished results are kept: start again"
    )


def _check_workers(client: Client) -> None:
    """Raise InputError without workers, or if their versions could give different results."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
        theirs = _done(client.run(_version))
    except TimeoutError:
        raise InputError("the cluster has no workers; start some with: dask worker ADDRESS --nthreads 1") from None
    except ImportError as error:
        raise InputError(
            f"the cluster's workers cannot load this program ({error}): install servobench[cluster] where they run"
        ) from None
    others = sorted({text for text in theirs.values() if text != _version()})
    if others:
        raise InputError(
            f"the cluster's workers have {'; '.join(others)}, here is {_version()}: install the same there, as results "
            "of different versions must not be mixed"
        )


def _done(answer: Any) -> Any:
    """Return a client's answer as is; it is synchronous here, which Dask's annotations leave open."""
    return answer


def _version() -> str:
    return ", ".join(f"{name} {version(name).partition('+')[0]}" for name in ("servobench", "numpy", "numba", "scipy"))


def _warming(warm: Warm) -> Any:
    """Return a plugin that loads the kernels in each worker, including later ones, before its first task."""
    from distributed import WorkerPlugin

    class Warming(WorkerPlugin):
        name = "servobench-warm"

        def setup(self, worker: Any) -> None:
            warm()

    return Warming()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence Dask's messages about lost workers, which repeat ours in many more lines."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]
    levels = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def _do(key: str, work: Work, recordings: Sequence[Recording]) -> Done:
    """Do a task on a worker."""
    return outcome(key, lambda: work(recordings))
