"""The fleet's work on Dask distributed: this machine's processors, or any cluster with a scheduler's address.

A unit's recordings are scattered once; its tasks then travel light. Workers may die at any time: what they were doing
is handed out again, and recordings that were in their memory alone are scattered again. Results come back to the
driver as they are done, so that a lost scheduler costs what was running too.
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

from core.errors import InputError
from core.fleet.driver import Done, outcome
from core.fleet.plan import LoadUnit, UnitFacts
from core.fleet.work import Warm, Work
from core.identification.search.objective import available_threads
from core.recording import Recording

if TYPE_CHECKING:
    from distributed import Client, Future

QUEUED = 3
"""Tasks handed out for each thread of a worker, so that none waits for the driver."""
MOST_TRIES = 20
"""Deaths of workers while they did one task, after which it is not tried again: it may be what kills them."""
PATIENCE = 60.0
"""How long a scheduler may be gone or without workers [s]."""
CONNECTING = 30.0
"""How long a scheduler may take to answer, at first and when it was lost [s]."""
LOOK_PERIOD = 1.0
"""Between two looks at how many workers there are [s]."""
SETTINGS = {
    # A worker that dies is nobody's fault here; who counts is MOST_TRIES.
    "distributed.scheduler.allowed-failures": 10 * MOST_TRIES,
    # What watches the workers would cost as much as a whole one: sampled stacks, waits for the interpreter's lock,
    # a clock that wakes each process 50 times a second.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.admin.tick.interval": "2s",
    "distributed.admin.tick.cycle": "10s",
    # Dask has workers hand back every freed page at once, which fits, that free and take the same again, pay for. With
    # the one threshold given, the C library no longer finds the other by itself.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 256 * 2**20,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 32 * 2**20,
    # Pages about what goes on, which any user of the machine could read.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.nanny.http.routes": [],
    # A kernel that is compiled holds a worker's loop up, which is no reason for a warning.
    "distributed.admin.tick.limit": "300s",
}


@contextlib.contextmanager
def cluster(load: LoadUnit, warm: Warm, *, scheduler: str = "", workers: int | None = None) -> Iterator[DaskExecutor]:
    """An executor on the cluster whose scheduler has this address, or on worker processes of this machine's own.

    warm: what each worker does first; workers: how many processes here, None for one a processor. Raises InputError
    without Dask, when nobody answers at the address, or when the workers there are of another version.
    """
    try:
        import dask.config
        from distributed import Client, LocalCluster
        from distributed.security import Security

        # Whoever reaches a scheduler can run programs: here only who holds a key that is made for this run.
        security = None if scheduler else Security.temporary()
    except ImportError:
        raise InputError(
            "several processes need Dask, which is not installed: pip install 'servobench[cluster]'"
        ) from None
    with contextlib.ExitStack() as stack:
        # A copy: a scheduler with pages that somebody starts meanwhile adds its own to the list.
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
    """Hands tasks to a cluster; see `cluster`."""

    def __init__(self, client: Client, load: LoadUnit) -> None:
        self._client = client
        self._load = load
        self._data: dict[str, Future] = {}
        """Unit → its recordings on the cluster."""
        self._tasks: dict[str, tuple[UnitFacts, Work, Future, int]] = {}
        """Key → what was handed out, and how often."""
        self._finished: queue.SimpleQueue[tuple[str, Future]] = queue.SimpleQueue()
        self._notes: list[str] = []
        self._threads = 0
        self._looked = -math.inf
        self._staffed = time.monotonic()
        """When there were workers last."""

    @property
    def capacity(self) -> int:
        """By the threads there are at the moment."""
        self._count_threads()
        return QUEUED * max(1, self._threads)

    def submit(self, key: str, unit: UnitFacts, work: Work) -> None:
        """Take a task; raises ServoBenchError when the recordings cannot be read."""
        self._hand_out(key, unit, work, 1)

    def finished(self, timeout: float) -> list[Done]:
        """What is done by now, or within `timeout` [s]; raises InputError when the cluster is gone for good."""
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
        """Lost workers, in words."""
        notes, self._notes = self._notes, []
        return notes

    def release(self, unit: UnitFacts) -> None:
        """Forget a unit's recordings on the cluster."""
        self._data.pop(unit.name, None)

    def cancel(self) -> None:
        """Forget everything that is under way."""
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
        """A unit's recordings on the cluster, scattered if they are not there."""
        known = self._data.get(unit.name)
        if known is None or known.status in ("cancelled", "lost", "error"):
            known = self._scattered(list(self._load(unit)))
            self._data[unit.name] = known
        return known

    def _scattered(self, recordings: list[Recording]) -> Future:
        """Recordings sent to a worker; raises InputError when there is none for long."""
        begun = time.monotonic()
        while True:
            self._await_scheduler()
            try:
                return _done(self._client.scatter([recordings], hash=False))[0]
            except (TimeoutError, OSError):
                if time.monotonic() - begun > PATIENCE:
                    raise _deserted() from None

    def _outcome(self, key: str, future: Future) -> Done | None:
        """What a future brought; None for one that is no longer waited for or was handed out again."""
        from distributed import KilledWorker

        if key not in self._tasks or self._tasks[key][2] is not future:
            return None
        unit, work, _, attempt = self._tasks[key]
        try:
            outcome: Done = future.result()
        except (CancelledError, KilledWorker, OSError, TimeoutError) as error:
            if attempt >= MOST_TRIES:
                raise InputError(
                    f"{unit.name}: workers died {attempt} times over the same task ({type(error).__name__}); look at "
                    "their logs. What was done is kept: start again to go on"
                ) from None
            self._await_scheduler()
            self._notes.append(f"{unit.name}: a worker was lost, its task is handed out again")
            self._data.pop(unit.name, None)
            self._hand_out(key, unit, work, attempt + 1)
            return None
        del self._tasks[key]
        return outcome

    def _await_scheduler(self) -> None:
        """Give a lost scheduler time to come back; raises InputError when it does not."""
        begun = time.monotonic()
        while self._client.status != "running":
            if self._client.status == "closed" or time.monotonic() - begun > PATIENCE:
                raise InputError(
                    "the Dask scheduler no longer answers. What was done is kept: start again to go on"
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
        f"the cluster has had no workers for {PATIENCE:.0f} s; start some. What was done is kept: start again to go on"
    )


def _check_workers(client: Client) -> None:
    """Raise InputError without workers, or when they cannot give the numbers that this program gives."""
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
    """What a client answers: a client used from a thread without a loop waits, which its annotations leave open."""
    return answer


def _version() -> str:
    return ", ".join(f"{name} {version(name).partition('+')[0]}" for name in ("servobench", "numpy", "numba", "scipy"))


def _warming(warm: Warm) -> Any:
    """A plugin by which each worker, also one that joins later, loads the kernels before its first task."""
    from distributed import WorkerPlugin

    class Warming(WorkerPlugin):
        name = "servobench-warm"

        def setup(self, worker: Any) -> None:
            warm()

    return Warming()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Dask's own messages about lost workers say no more than ours, in many more lines."""
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
    """On a worker."""
    return outcome(key, lambda: work(recordings))
