"""The fleet on Dask: the plain loop's numbers, also when workers are killed, and nobody else on the machine gets in."""

import contextlib
import http.client
import os
import signal
import socket
import ssl
from importlib.util import find_spec

import pytest

from core.base.errors import InputError
from core.fleet.cluster import cluster
from core.fleet.driver import FleetWatch, run_fleet
from core.fleet.local import PlainLoop
from core.fleet.store import FleetStore
from core.fleet.work import Warm
from tests.core.fleet.small import Load, numbers, quick_plan_of
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif(find_spec("distributed") is None, reason="the extra cluster is not installed")
psutil = pytest.importorskip("psutil")


@pytest.fixture(scope="module")
def plan():
    return quick_plan_of(2, trials=60)


@pytest.fixture(scope="module")
def plain(plan, tmp_path_factory):
    return numbers(run(plan, tmp_path_factory.mktemp("plain"), PlainLoop(Load(2))))


@pytest.fixture(scope="module")
def ports():
    """Where this process and its children listen while the cluster is up; filled by it."""
    return set()


@pytest.fixture(scope="module")
def executor(plan, ports):
    before = listening()
    with cluster(Load(2), Warm(request=plan.request.fit), workers=2) as executor:
        assert executor.capacity
        ports |= listening() - before
        yield executor


def listening():
    """Ports on which this process and its children listen, and none on an address that other machines reach."""
    here = psutil.Process(os.getpid())
    processes = (here, *here.children(recursive=True))
    found = [c for p in processes for c in p.net_connections("tcp") if c.status == psutil.CONN_LISTEN]
    assert {connection.laddr.ip for connection in found} <= {"127.0.0.1", "::1"}
    return {connection.laddr.port for connection in found}


PAGES = ("/", "/status", "/info/main/workers.html", "/json/identity.json", "/metrics", "/health")


def shows_nothing(port):
    """Whether a port speaks HTTP and has no page."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        for page in PAGES:
            connection.request("GET", page)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 404, page
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True


def asks_for_a_key(port):
    """Whether a port speaks TLS and hangs up on whoever cannot show a certificate of this cluster's."""
    anybody = ssl.create_default_context()
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port), timeout=60) as line, pytest.raises(ssl.SSLError) as refused:
        # With TLS 1.3 the server looks at the certificate after the client's side of the handshake.
        anybody.wrap_socket(line).recv(1)
    return "CERTIFICATE_REQUIRED" in str(refused.value) or "HANDSHAKE_FAILURE" in str(refused.value)


def run(plan, folder, executor, **watch):
    return run_fleet(plan, FleetStore(folder), lambda: contextlib.nullcontext(executor), FleetWatch(**watch))


def processes(executor):
    return executor._client.run(os.getpid, on_error="ignore")


def test_nobody_without_the_key_gets_in_and_no_page_is_shown(executor, ports):
    silent = {port for port in ports if shows_nothing(port)}
    assert len(ports - silent) >= 2
    assert [port for port in ports - silent if not asks_for_a_key(port)] == []


def test_two_workers_one_of_which_is_killed_give_the_plain_loops_numbers(plan, plain, executor, tmp_path):
    killed, notes = [], []

    def strike(step):
        notes.append(step.note)
        if step.computed >= 2 and not killed:
            killed.append(min(processes(executor).values()))
            os.kill(killed[0], signal.SIGKILL)

    found = run(plan, tmp_path, executor, progressed=strike)
    assert killed
    assert numbers(found) == plain

    def replaced():
        alive = processes(executor).values()
        return len(alive) == 2 and killed[0] not in alive

    wait_until(replaced, told="nothing took the place of the worker that was killed")
    assert all("a worker was lost, its task is submitted again" in note for note in notes if note)


@pytest.mark.exhaustive("stopping on a cluster, which the plain loop's tests cover")
def test_it_stops_between_tasks_and_leaves_the_cluster_to_the_next(plan, executor, tmp_path):
    told = []
    half = run(plan, tmp_path, executor, progressed=told.append, should_stop=lambda: told and told[-1].computed >= 2)
    assert 2 <= half.done < plan.tasks
    executor.cancel()
    assert run(plan, tmp_path, executor).complete


@pytest.mark.exhaustive("a scheduler of one's own")
def test_a_scheduler_is_used_by_its_address_if_its_workers_have_the_same_version(plan, plain, monkeypatch, tmp_path):
    import distributed

    here = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(**here) as there:
        with cluster(Load(2), Warm(request=plan.request.fit), scheduler=there.scheduler_address) as executor:
            assert numbers(run(plan, tmp_path, executor)) == plain
        versions = iter(["1.0"] * 4)
        monkeypatch.setattr("core.fleet.cluster.version", lambda name: next(versions, "99.0"))
        with (
            pytest.raises(InputError, match=r"here is servobench 99\.0.*: install the same"),
            cluster(Load(2), Warm(request=plan.request.fit), scheduler=there.scheduler_address),
        ):
            pass


def test_an_address_where_nobody_answers_is_refused_with_the_remedy(plan, monkeypatch):
    monkeypatch.setattr("core.fleet.cluster.CONNECTING", 0.2)
    with (
        pytest.raises(InputError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9.*start one with"),
        cluster(Load(2), Warm(request=plan.request.fit), scheduler="tcp://127.0.0.1:9"),
    ):
        pass
