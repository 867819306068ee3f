"""Simulation of a compliant joint, and its export to Gazebo, in a process of its own.

Jobs and results contain only numbers and the data of `core.studies.compliant`, so that neither this module nor
unpickling loads the compiler into the window's process.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.studies.compliant.joint import CompliantJoint, JointMotion, equilibrium_of, simulate_joint
from core.studies.compliant.modes import Mode

if TYPE_CHECKING:
    from bench_gui.work.process import Line

Array = NDArray[np.float64]

DT = 2e-3
"""Sample interval [s]."""
BEGIN = 0.2
"""Start of the command [s]; the joint rests before it."""
PUSH = (0.6, 0.8)
"""Start and end of the push, as shares of the duration."""
STEP, SINE = "step", "sine"
SHAPES = {STEP: "step", SINE: "sinusoid"}


@dataclass(frozen=True, kw_only=True)
class ComplianceJob:
    """Simulation to run: shape of the first reference, constant second reference, and a push."""

    joint: CompliantJoint
    mode: Mode
    shape: str
    """Key of `SHAPES`."""
    amplitude: float
    """Amplitude of the first reference, in its own unit."""
    speed: float
    """Angular frequency of the sinusoid [rad/s]."""
    second: float
    """Constant second reference, in its own unit."""
    push: float
    """Torque of the push on the link [N·m]."""
    duration: float
    """Duration of the motion [s]."""

    @property
    def time(self) -> Array:
        """Sample times (n,) [s]."""
        return DT * np.arange(math.ceil(self.duration / DT), dtype=np.float64)

    @property
    def reference_1(self) -> Array:
        """First reference at each sample (n,): 0, then a step or H·sin(ω·t) (seed 003, eq. 12)."""
        since = self.time - BEGIN
        course = np.sin(self.speed * since) if self.shape == SINE else np.ones_like(since)
        return np.where(since >= 0.0, self.amplitude * course, 0.0)

    @property
    def external_torque(self) -> Array:
        """External torque at each sample (n,) [N·m]."""
        share = self.time / self.duration
        return np.asarray(np.where((share >= PUSH[0]) & (share < PUSH[1]), self.push, 0.0), dtype=np.float64)

    @property
    def title(self) -> str:
        """One-line title for exported plots."""
        return f"{self.joint.actuator.title}, mode {int(self.mode)}: {self.mode.title.lower()}"


@dataclass(frozen=True, kw_only=True, eq=False)
class ComplianceView:
    """Result of a job."""

    job: ComplianceJob
    motion: JointMotion
    equilibrium: Array
    """Equilibrium of the springs (n,) [rad]; NaN for a rigid joint."""


def simulate(job: ComplianceJob, line: Line) -> ComplianceView:
    """Simulate a joint that starts at rest at 0 rad."""
    motion = simulate_joint(
        job.joint, job.mode, job.reference_1, job.second, DT, external_torque=job.external_torque, position=0.0
    )
    return ComplianceView(job=job, motion=motion, equilibrium=equilibrium_of(job.joint.actuator, motion))


@dataclass(frozen=True, kw_only=True)
class GazeboJob:
    """Joint to export to Gazebo, and the target folder."""

    job: ComplianceJob
    folder: Path


def write_for_gazebo(job: GazeboJob, line: Line) -> list[Path]:
    """Write URDF and manager configuration. Return the paths of the files."""
    from core.studies.compliant.array import JointArray, NamedJoint
    from core.studies.compliant.gazebo import write_gazebo

    named = NamedJoint(name="joint", joint=job.job.joint, mode=job.job.mode)
    return write_gazebo(job.folder, JointArray(name=f"{named.joint.actuator.name}_bench", joints=(named,)))
