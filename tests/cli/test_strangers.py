"""Folders that are called as the program's rooms, where a person works or on PYTHONPATH, change nothing."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = str(Path(__file__).parents[2])


def test_the_program_starts_beside_folders_of_the_same_names(tmp_path):
    for room in ("core", "drivers", "sessions"):
        (tmp_path / room).mkdir()
        (tmp_path / room / "__init__.py").write_text("raise RuntimeError('somebody else')")
    places = os.pathsep.join((".", ROOT, os.environ.get("PYTHONPATH", "")))
    done = subprocess.run(
        [sys.executable, "-m", "bench_gui", "runs", "nowhere"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": places},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 1
    assert done.stderr == "bench: nowhere: there is no such session\n"
