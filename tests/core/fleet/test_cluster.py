"""The fleet on Dask: the plain loop's numbers, also when workers are killed in the middle."""

import contextlib
import os
import signal
from importlib.util import find_spec

import pytest

from core.errors import InputError
from core.fleet.cluster import cluster
from core.fleet.driver import FleetWatch, run_fleet
from core.fleet.local import PlainLoop
from core.fleet.store import FleetStore
from core.fleet.work import Warm
from tests.core.fleet.small import Load, numbers, plan_of
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif(find_spec("distributed") is None, reason="the extra cluster is not installed")


@pytest.fixture(scope="module")
def plan():
    return plan_of(2, repeats=2)


@pytest.fixture(scope="module")
def executor(plan):
    with cluster(Load(2), Warm(request=plan.request.fit), workers=2) as executor:
        yield executor


def run(plan, folder, executor, **watch):
    return run_fleet(plan, FleetStore(folder), lambda: contextlib.nullcontext(executor), FleetWatch(**watch))


def processes(executor):
    return executor._client.run(os.getpid, on_error="ignore")


def test_two_workers_one_of_which_is_killed_give_the_plain_loops_numbers(plan, executor, tmp_path):
    plain = run(plan, tmp_path / "plain", PlainLoop(Load(2)))
    killed, notes = [], []

    def strike(step):
        notes.append(step.note)
        if step.computed >= 4 and not killed:
            killed.append(min(processes(executor).values()))
            os.kill(killed[0], signal.SIGKILL)

    found = run(plan, tmp_path / "cluster", executor, progressed=strike)
    assert killed
    assert numbers(found) == numbers(plain)

    def replaced():
        alive = processes(executor).values()
        return len(alive) == 2 and killed[0] not in alive

    wait_until(replaced, told="nothing took the place of the worker that was killed")
    assert all("a worker was lost, its task is submitted again" in note for note in notes if note)


def test_it_stops_between_tasks_and_leaves_the_cluster_to_the_next(plan, executor, tmp_path):
    told = []
    half = run(plan, tmp_path, executor, progressed=told.append, should_stop=lambda: told and told[-1].computed >= 2)
    assert 2 <= half.done < plan.tasks
    executor.cancel()
    assert run(plan, tmp_path, executor).complete


def test_an_address_where_nobody_answers_is_refused_with_the_remedy(plan, monkeypatch):
    monkeypatch.setattr("core.fleet.cluster.CONNECTING", 0.2)
    with (
        pytest.raises(InputError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9.*start one with"),
        cluster(Load(2), Warm(request=plan.request.fit), scheduler="tcp://127.0.0.1:9"),
    ):
        pass


def test_workers_of_another_version_are_refused(plan, monkeypatch):
    import distributed

    versions = iter(["1.0"] * 4)
    monkeypatch.setattr("core.fleet.cluster.version", lambda name: next(versions, "99.0"))
    with (
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address="127.0.0.1:0") as there,
        pytest.raises(InputError, match=r"here is servobench 99\.0.*: install the same"),
        cluster(Load(2), Warm(request=plan.request.fit), scheduler=there.scheduler_address),
    ):
        pass
