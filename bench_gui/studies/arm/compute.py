"""Computation of the arm page: friction models on an arm of two servos, case by case.

Results contain only plain data, so that unpickling them does not load the compiler into the window's process. Each case
is reported as soon as it is finished, so that a stop keeps the finished ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bench_gui.work.process import Share
from core.base.words import capitalised
from core.servo.model import ServoModel

if TYPE_CHECKING:
    from bench_gui.work.process import Line
    from core.studies.arm.links import ArmLinks
    from core.studies.arm.validation import ArmCandidate, ArmCase

Array = NDArray[np.float64]

ARM_SERVOS = {"dynamixel": ("mx106", "mx64"), "erob": ("erob80_100", "erob80_50")}
"""Servos of the paper's arms. Copy of `ARMS` in `core.studies.arm.scene`, which the window must not load."""
GAINS = {"low": "Low: half the catalogue's", "high": "High: twice the catalogue's"}
"""Titles of the gains of `core.studies.arm.validation`."""
PERIOD = 4.0
"""Default duration of one lap of a path [s]."""
FIT_COST = 6.0
"""Duration of the fit of the Coulomb–viscous servos, in cases; used for the progress bar."""
FITTED, PUBLISHED, OWN, CHOSEN = "fitted", "published", "own", "chosen"
"""Origins of a compared model: OWN is the model of a simulated truth, CHOSEN that of a measured arm."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ArmJob:
    """Comparison to run: arm, joints, models and commands."""

    arm: str
    """Key of `ARM_SERVOS`; empty for links from a file."""
    links: Path | None = None
    joints: tuple[ServoModel, ServoModel]
    """Models of shoulder and elbow: the truth, or the servos of the measured arm."""
    frictions: tuple[str, ...]
    paths: tuple[str, ...] = ()
    gains: tuple[str, ...] = ()
    """Keys of `GAINS`, or numbers as text; a single one for a measured arm."""
    period: float = PERIOD
    """Duration of one lap of a path [s]."""
    recording: Path | None = None
    """CSV file of a measured arm; None for a simulated truth."""

    @property
    def title(self) -> str:
        """One-line title for exported plots."""
        shoulder, elbow = (model.title for model in self.joints)
        return f"Arm of {shoulder} and {elbow}, {'simulated' if self.recording is None else 'measured'}"


@dataclass(frozen=True, kw_only=True, eq=False)
class ArmTrack:
    """Result of one model in a case."""

    name: str
    """Name in `core.studies.arm.validation`, e.g. "m1 fitted"."""
    friction: str
    origin: str
    """Origin of the model: FITTED, PUBLISHED, OWN or CHOSEN."""
    angles: Array
    """Joint angles (n, 2) [rad]."""
    tip: Array
    """Positions of the tip (n, 2) [m]."""
    joints_mrad: tuple[float, float]
    """Mean absolute error of each joint [mrad]."""
    tip_mm: float
    """Mean distance of the tips [mm]."""

    @property
    def title(self) -> str:
        """Title for tables and legends."""
        return capitalised(self.name)

    @property
    def mae_mrad(self) -> float:
        """Mean absolute error of both joints [mrad]."""
        return sum(self.joints_mrad) / 2.0


@dataclass(frozen=True, kw_only=True, eq=False)
class ArmView:
    """Result of one path with one gain: the true motion and that of each model."""

    path: str
    """Title of the path or name of the recording."""
    gain: str
    """Title of the gain, with the kp of the servos."""
    time: Array
    """Time (n,) [s]."""
    goal: Array
    """Goals of the joints (n, 2) [rad]."""
    goal_tip: Array
    """Goals of the tip (n, 2) [m]."""
    reference: Array
    """True or measured joint angles (n, 2) [rad]."""
    reference_tip: Array
    """True or measured positions of the tip (n, 2) [m]."""
    rest: Array
    """Positions of shoulder, elbow and tip at the start (3, 2) [m]."""
    tracks: tuple[ArmTrack, ...]

    @property
    def title(self) -> str:
        """One-line title."""
        return f"{self.path}, {self.gain}"


@dataclass(frozen=True)
class ArmProgress(Share):
    """Progress, with the case that has just been finished."""

    view: ArmView | None = None


def validate(job: ArmJob, line: Line) -> int:
    """Run a comparison.

    Args:
        job: Comparison to run.
        line: Receives an `ArmProgress` after each case.

    Returns:
        Number of cases.

    Raises:
        ServoBenchError: Links or recording cannot be used, or MuJoCo is missing.
    """
    from core.export.programs import mujoco_engine
    from core.studies.arm.links import read_arm_parameters
    from core.studies.arm.recording import read_arm_csv
    from core.studies.arm.scene import published_arm
    from core.studies.arm.validation import arm_candidates, arm_servos, gains_of, validate_arm, validate_recording

    mujoco_engine()
    links = published_arm(job.arm).links if job.links is None else read_arm_parameters(job.links).links
    # Report links that no bodies can have before the fit of the servos, which takes seconds.
    links.as_bodies()
    run = None if job.recording is None else read_arm_csv(job.recording)
    if run is not None:
        # Report a recording without goals now instead of after the fit of the servos.
        validate_recording(run, links, {})
    cases = [(path, gain) for path in job.paths for gain in job.gains] if run is None else [("", job.gains[0])]
    before = FIT_COST if any(f == "m1" and any(m.friction != f for m in job.joints) for f in job.frictions) else 0.0

    def tell(done: float, text: str, view: ArmView | None = None) -> None:
        line.tell(ArmProgress(done / (before + len(cases)), text, view=view))

    candidates = arm_candidates(
        job.joints, job.frictions, lambda joint: tell(joint * before / 2, f"fitting M1 to servo {joint + 1} of 2")
    )
    tell(before, f"simulating case 1 of {len(cases)}")
    for count, (path, gain) in enumerate(cases):
        kp = gains_of(job.joints, gain)
        if run is None:
            (case,) = validate_arm(links, job.joints, candidates, [path], [gain], job.period).cases
        else:
            case = validate_recording(run, links, {c.name: arm_servos(c.models, kp) for c in candidates})
        view = _view(case, links, candidates, kp, CHOSEN if job.recording else OWN)
        tell(before + count + 1, f"simulating case {min(count + 2, len(cases))} of {len(cases)}", view)
    return len(cases)


def _view(
    case: ArmCase, links: ArmLinks, candidates: Sequence[ArmCandidate], kp: tuple[float, float], own: str
) -> ArmView:
    from core.studies.arm.kinematics import elbow_positions, tip_positions
    from core.studies.arm.paths import PATHS

    tip = tip_positions(links, case.reference)
    gains = f"kp {', '.join(f'{value:g}' for value in dict.fromkeys(kp))}"
    return ArmView(
        path=PATHS.get(case.path, case.path),
        gain=f"{case.gain}, {gains}" if case.gain in GAINS else gains,
        time=case.time,
        goal=case.goal,
        goal_tip=tip_positions(links, case.goal),
        reference=case.reference,
        reference_tip=tip,
        rest=np.vstack([np.zeros(2), elbow_positions(links, case.reference[:1]), tip[:1]]),
        tracks=tuple(
            ArmTrack(
                name=c.name,
                friction=c.friction,
                origin=_origin(c, own),
                angles=case.motions[c.name].position,
                tip=tip_positions(links, case.motions[c.name].position),
                joints_mrad=case.errors[c.name].joints_mrad,
                tip_mm=case.errors[c.name].tip_mm,
            )
            for c in candidates
        ),
    )


def _origin(candidate: ArmCandidate, own: str) -> str:
    from core.studies.arm.validation import FITTED_M1
    from core.studies.arm.validation import PUBLISHED as PUBLISHED_NAME

    if candidate.name == FITTED_M1:
        return FITTED
    return PUBLISHED if candidate.name == PUBLISHED_NAME.format(candidate.friction) else own
