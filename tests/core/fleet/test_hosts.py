"""A fleet by address: two hosts with networks of their own, each with a scheduler, each using the other's."""

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from bench_gui.cli import main
from sessions import Session
from tests.core.fleet.small import units

HOSTS = {"10.77.83.1": "sbhost1", "10.77.83.2": "sbhost2"}
PORT = 8786
CLUSTER = """
import sys
from distributed import LocalCluster
with LocalCluster(
    n_workers=1, threads_per_worker=1, processes=False, host=sys.argv[1], scheduler_port=int(sys.argv[2]),
    dashboard_address=None,
):
    sys.stdin.read()
"""
"""A scheduler and a worker in one process."""


def allowed() -> bool:
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return False
    name = f"sbprobe{os.getpid()}"
    probe = subprocess.run(["ip", "netns", "add", name], check=False, capture_output=True)
    subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
    return probe.returncode == 0


pytestmark = [
    pytest.mark.skipif(find_spec("distributed") is None, reason="the extra cluster is not installed"),
    pytest.mark.skipif(not allowed(), reason="network namespaces need root and the program ip"),
]


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def on(host: str, *command: str) -> list[str]:
    return ["ip", "netns", "exec", host, *command]


@pytest.fixture
def hosts():
    """Two namespaces joined by one cable; in each a scheduler with a worker."""
    processes: list[subprocess.Popen] = []
    try:
        for name in HOSTS.values():
            ip("netns", "add", name)
        first, second = HOSTS.values()
        ip("link", "add", "sbeth1", "netns", first, "type", "veth", "peer", "name", "sbeth2", "netns", second)
        for number, (address, name) in enumerate(HOSTS.items(), 1):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", f"sbeth{number}")
            ip("-n", name, "link", "set", f"sbeth{number}", "up")
            ip("-n", name, "link", "set", "lo", "up")
            program = on(name, sys.executable, "-c", CLUSTER, address, str(PORT))
            processes.append(subprocess.Popen(program, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL))
        yield HOSTS
    finally:
        for process in processes:
            process.kill()
            process.wait()
        for name in HOSTS.values():
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def test_each_host_uses_the_others_scheduler_and_gets_the_plain_loops_numbers(hosts, tmp_path, capsys):
    for unit in units(2):
        Session.create(tmp_path / unit.name, unit.name).add_all(unit.recordings)
    bench = str(Path(sys.executable).with_name("bench"))
    words = ["fleet", *(str(tmp_path / unit.name) for unit in units(2)), "--models", "m1", "--trials", "60", "--json"]
    first, second = hosts
    clients = [
        subprocess.Popen(
            on(
                hosts[here],
                bench,
                *words,
                "--scheduler",
                f"tcp://{there}:{PORT}",
                "-o",
                str(tmp_path / hosts[here]),
            ),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for here, there in ((first, second), (second, first))
    ]
    assert main([*words, "--workers", "1", "-o", str(tmp_path / "plain")]) == 0
    wanted = json.loads(capsys.readouterr().out)
    assert wanted["computed"] == 4
    for client in clients:
        out, err = client.communicate()
        assert client.returncode == 0, err
        found = json.loads(out)
        assert found["units"] == wanted["units"]
        assert found["transfer"] == wanted["transfer"]
        assert found["computed"] == 4
