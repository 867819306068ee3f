"""Where Qt cannot open, the program says why in one line instead of aborting."""

import os
import subprocess
import sys

import pytest

from bench_gui.headless.display import missing_packages
from bench_gui.headless.doctor import examine

LOADER = "Cannot load library /x/libqxcb.so: libxcb-icccm.so.4: cannot open shared object file: No such file"
LDD = """
\tlibxcb-cursor.so.0 => not found
\tlibxkbcommon-x11.so.0 => not found
\tlibX11-xcb.so.1 => not found
\tlibxcb-icccm.so.4 => not found
\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f0000000000)
"""


def test_packages_are_those_of_every_missing_library():
    found = ["libx11-xcb1", "libxcb-cursor0", "libxcb-icccm4", "libxkbcommon-x11-0"]
    assert missing_packages(LOADER + LDD) == found
    assert missing_packages("qt.qpa.plugin: Could not find the Qt platform plugin") == []


@pytest.mark.parametrize(("platform", "status"), [("none-such", "error"), ("offscreen", "ok")])
def test_the_doctor_tries_to_open_qt(monkeypatch, platform, status):
    monkeypatch.setenv("QT_QPA_PLATFORM", platform)
    (finding,) = [finding for finding in examine() if finding.subject == "display"]
    assert finding.status == status
    assert ("none-such" in finding.text) == (status == "error")


def test_the_window_says_in_one_line_that_it_cannot_open(tmp_path):
    place = {"SERVOBENCH_HOME": str(tmp_path), "QT_QPA_PLATFORM": "none-such", "PYTHONPATH": os.getcwd()}
    done = subprocess.run(
        [sys.executable, "-m", "bench_gui"], env={**os.environ, **place}, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("bench: the window cannot open: ")
    assert "none-such" in line
