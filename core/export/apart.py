"""Run an exported pendulum in an engine that needs a process of its own: commands in, angles out.

The stand-alone programs take `SCENE [FILE] COMMANDS.npy TIMESTEP ANGLES.npy`. Commands are (runs, steps, 2), goal [rad]
and enable; angles are (runs, steps) [rad], before each step.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.base.errors import ExportError
from core.export.files import printable
from core.export.servo_file import STANDALONE
from core.motion.trajectories import make_trajectory

LONGEST_RUN = 1800.0
"""Timeout of a run [s]."""


def positions_apart(
    program: str, files: Sequence[Path], trajectories: Sequence[str], timestep: float, engine: str
) -> NDArray[np.float64]:
    """Run an exported pendulum on each trajectory, in a process of its own.

    Args:
        program: Stand-alone program, e.g. "servobench_physx.py".
        files: Files of the export that it runs.
        trajectories: Names of the trajectories.
        timestep: Time step [s].
        engine: Name of the engine, for the error message.

    Returns:
        Positions before each time step [rad], shape (trajectories, steps).

    Raises:
        ExportError: The program fails or does not finish in time.
    """
    paths = [make_trajectory(name) for name in trajectories]
    time = timestep * np.arange(round(max(path.duration for path in paths) / timestep))
    commands = np.stack([np.stack((p.goal(time), p.torque_enable(time)), axis=-1) for p in paths])
    with tempfile.TemporaryDirectory() as temporary:
        asked, found = Path(temporary) / "commands.npy", Path(temporary) / "angles.npy"
        np.save(asked, commands)
        call = [sys.executable, str(STANDALONE / program), *map(str, files), str(asked), repr(timestep), str(found)]
        try:
            done = subprocess.run(call, capture_output=True, text=True, timeout=LONGEST_RUN, check=False)
        except subprocess.TimeoutExpired:
            raise ExportError(f"{files[0]}: {engine} did not finish in {LONGEST_RUN:g} s") from None
        if done.returncode != 0 or not found.exists():
            reason = printable(_reason(done.stdout + done.stderr))
            raise ExportError(f"{files[0]}: {engine} failed to run it: {reason}")
        return np.load(found, allow_pickle=False)


def _reason(output: str) -> str:
    """Return the last error in a program's output, or its last line."""
    errors = re.findall(r"\w*Error: .+", output)
    return (errors or output.strip().splitlines() or ["no error message"])[-1]
