"""A compliant joint simulated, or written for Gazebo, in a process of its own; nothing here loads a compiler before.

What goes there and comes back are plain numbers and the data of `core.studies.compliant`, whose unpickling loads none
either.
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
"""Between samples [s]."""
BEGIN = 0.2
"""Of the command, after a moment of rest [s]."""
PUSH = (0.6, 0.8)
"""When the hand pushes, as shares of the duration."""
STEP, SINE = "step", "sine"
SHAPES = {STEP: "step", SINE: "sinusoid"}


@dataclass(frozen=True, kw_only=True)
class ComplianceJob:
    """Simulation to run: a command of the first reference, the second held, and a push."""

    joint: CompliantJoint
    mode: Mode
    shape: str
    """Of SHAPES"""
    amplitude: float
    """Of the first reference, in its own unit"""
    speed: float
    """Of the sinusoid [rad/s]"""
    second: float
    """Second reference, in its own unit"""
    push: float
    """On the link [N·m]"""
    duration: float
    """[s]"""

    @property
    def time(self) -> Array:
        """Sample times (n,) [s]."""
        return DT * np.arange(math.ceil(self.duration / DT), dtype=np.float64)

    @property
    def reference_1(self) -> Array:
        """(n,): at rest, then a step or H·sin(ω·t) (seed 003, eq. 12)."""
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
        """In one line, for exported plots."""
        return f"{self.joint.actuator.title}, mode {int(self.mode)}: {self.mode.title.lower()}"


@dataclass(frozen=True, kw_only=True, eq=False)
class ComplianceView:
    """Result of a job."""

    job: ComplianceJob
    motion: JointMotion
    equilibrium: Array
    """Of the springs, (n,) rad; NaN for a rigid joint"""


def simulate(job: ComplianceJob, line: Line) -> ComplianceView:
    """Simulate from rest at 0."""
    motion = simulate_joint(
        job.joint, job.mode, job.reference_1, job.second, DT, external_torque=job.external_torque, position=0.0
    )
    return ComplianceView(job=job, motion=motion, equilibrium=equilibrium_of(job.joint.actuator, motion))


@dataclass(frozen=True, kw_only=True)
class GazeboJob:
    """A joint to be written for Gazebo."""

    job: ComplianceJob
    folder: Path


def write_for_gazebo(job: GazeboJob, line: Line) -> list[Path]:
    """Write URDF and manager configuration; returns the files."""
    from core.studies.compliant.array import JointArray, NamedJoint
    from core.studies.compliant.gazebo import write_gazebo

    named = NamedJoint(name="joint", joint=job.job.joint, mode=job.job.mode)
    return write_gazebo(job.folder, JointArray(name=f"{named.joint.actuator.name}_bench", joints=(named,)))
