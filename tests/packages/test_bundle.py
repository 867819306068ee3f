"""The bundle, where it was built (`make bundle` ends with these tests): its programs work, its window records."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.packages.installed import environment, output, wait_until, window

BUNDLE = Path(__file__).parents[2] / "dist" / "ServoBench"
BENCH, WINDOW = BUNDLE / "bench", BUNDLE / "ServoBench"

pytestmark = pytest.mark.skipif(not BENCH.exists(), reason="no bundle here: make bundle")


def findings(home):
    return {finding["subject"]: finding for finding in json.loads(output([BENCH, "doctor", "--json"], home))}


def runs(session, home):
    return json.loads(output([BENCH, "runs", session, "--json"], home))


def test_the_doctor_knows_where_it_is(tmp_path):
    found = findings(environment(tmp_path))
    assert f"bundle in {BUNDLE}" in found["servobench"]["text"]
    assert [finding for finding in found.values() if finding["status"] == "error"] == []


def test_licences_and_what_a_desktop_needs_are_inside():
    for name in ("LICENSE", "NOTICE", "servobench.desktop", "servobench.svg"):
        assert (BUNDLE / name).stat().st_size > 0


def test_it_records_and_identifies(tmp_path):
    home = environment(tmp_path)
    output([BENCH, "demo", "--fast", "-o", tmp_path / "demo"], home)
    assert {run["exit_status"] for run in runs(tmp_path / "demo/session", home)} == {"success"}
    assert (tmp_path / "demo/report.html").stat().st_size > 0


def test_the_window_opens_offscreen(tmp_path, qapp, monkeypatch):
    with window([WINDOW, "--example"], environment(tmp_path), monkeypatch):
        assert (tmp_path / "ServoBench/example_xl330/runs").is_dir()


@pytest.fixture
def display():
    """A screen of its own; returns its number as programs want it."""
    if not (shutil.which("Xvfb") and shutil.which("xdotool")):
        pytest.skip("no screen to type into: apt-get install xvfb xdotool")
    here, there = os.pipe()
    command = ["Xvfb", "-displayfd", str(there), "-screen", "0", "1400x900x24", "-nolisten", "tcp", "-noreset"]
    server = subprocess.Popen(command, pass_fds=[there], stderr=subprocess.DEVNULL)
    os.close(there)
    try:
        yield ":" + os.read(here, 20).decode().strip()
    finally:
        os.close(here)
        server.terminate()
        server.wait()


def test_the_window_records(tmp_path, qapp, monkeypatch, display):
    home = environment(tmp_path, QT_QPA_PLATFORM="xcb", DISPLAY=display)

    def keys(*words):
        return output(["xdotool", *words], home).strip()

    def find(title):
        return keys("search", "--sync", "--onlyvisible", "--name", title).splitlines()[0]

    with window([WINDOW, "--servo", "simulated:mx106"], home, monkeypatch) as program:
        keys("windowfocus", "--sync", find("^ServoBench"), "key", "ctrl+k")
        keys("windowfocus", "--sync", find("^Commands"), "type", "record four trajectories")
        keys("key", "Return")
        wait_until(lambda: len(list((tmp_path / "ServoBench").glob("*_mx106/runs/*.h5"))) == 4, program)
    (session,) = (tmp_path / "ServoBench").glob("*_mx106")
    for run in runs(session, home):
        assert run["exit_status"] == "success"
        assert run["samples"] > 100
