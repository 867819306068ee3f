"""What a person installs, installed for real: `python -m tests.bench.packages`.

The wheel in a fresh environment and by pipx, where that is there; the bundle's size and start, where it was built.
Takes minutes and the package index.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.bench.printing import line

ROOT = Path(__file__).parents[2]
BUNDLE = ROOT / "dist" / "ServoBench"
STARTS = 5


def seconds(command: Sequence[object], home: Path) -> float:
    """How long a program takes that must succeed [s]."""
    environment = {**os.environ, "HOME": str(home), "QT_QPA_PLATFORM": "offscreen"}
    environment.pop("PYTHONPATH", None)
    begin = time.perf_counter()
    subprocess.run([str(word) for word in command], env=environment, cwd=home, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def try_out(name: str, bench: Path, home: Path) -> None:
    """Run what the bar asks for."""
    home.mkdir()
    seconds([bench, "--help"], home)
    seconds([bench, "doctor"], home)
    line(f"{name}: bench demo --fast passes", f"{seconds([bench, 'demo', '--fast', '-o', 'demo'], home):.0f} s")


def wheels(folder: Path) -> None:
    """The wheel in a fresh environment, then by pipx."""
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=ROOT, check=True)
    (wheel,) = folder.glob("*.whl")
    line("wheel", f"{wheel.stat().st_size / 1e6:.1f} MB")
    subprocess.run([sys.executable, "-m", "venv", folder / "fresh"], check=True)
    subprocess.run([folder / "fresh/bin/python", "-m", "pip", "install", "--quiet", wheel], check=True)
    try_out("wheel in a fresh environment", folder / "fresh/bin/bench", folder / "fresh-home")
    pipx = shutil.which("pipx")
    if pipx is None:
        line("pipx", "not here")
        return
    environment = {**os.environ, "PIPX_HOME": str(folder / "pipx"), "PIPX_BIN_DIR": str(folder / "bin")}
    subprocess.run([pipx, "install", "--quiet", wheel], env=environment, check=True)
    try_out("wheel by pipx", folder / "bin/bench", folder / "pipx-home")


def bundle(folder: Path) -> None:
    """Size, and start against the checkout's."""
    if not BUNDLE.exists():
        line("bundle", "not built: make bundle")
        return
    size = sum(path.stat().st_size for path in BUNDLE.rglob("*") if path.is_file() and not path.is_symlink())
    line("bundle", f"{size / 1e6:.0f} MB")
    try_out("bundle", BUNDLE / "bench", folder / "bundle-home")
    for words in (["--version"], ["doctor"]):
        ours, theirs = (
            min(seconds([bench, *words], folder / "bundle-home") for _ in range(STARTS))
            for bench in (BUNDLE / "bench", Path(sys.executable).parent / "bench")
        )
        line(f"bundle's `bench {words[0]}` against the checkout's", f"{ours:.2f} s, {ours / theirs:.2f} ×")


def main() -> None:
    """Install and measure."""
    with tempfile.TemporaryDirectory() as folder:
        wheels(Path(folder))
        bundle(Path(folder))


if __name__ == "__main__":
    main()
