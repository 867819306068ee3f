"""Effect of the friction model on an arm: the experiment of Duclusaud et al., section VI-B, with a simulated truth.

The truth is an arm whose joints are known servos, simulated with a tenth of the time step. Candidate models replace its
joints and follow the same commands. They are judged by their distance from the true motion: the mean absolute error of
both joint angles, as in Fig. 7, and the mean distance of the tip. The candidates include

- **m1 fitted**: the Coulomb–viscous servo fitted to the true motion on the test bench (`core.export.approximation`). It
  is not the best M1 on the arm, where the published one is sometimes closer;
- **m1 published** to **m6 published**: the catalogue's models of the servo, each identified from its data;
- the truth's own model at the full time step: the cost of the discretisation.

`validate_recording` replaces the truth by a measured arm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from core.base.arrays import Array
from core.base.errors import InputError
from core.export.approximation import Form, approximate
from core.export.files import printable
from core.export.references import default_bench
from core.servo.model import ServoModel
from core.servo.shipped import load_model, shipped_models
from core.servo.terms import FRICTION_MODELS
from core.studies.arm.kinematics import tip_positions
from core.studies.arm.links import ArmLinks
from core.studies.arm.paths import PATHS, arm_path
from core.studies.arm.recording import ArmRecording
from core.studies.arm.simulate import COMMAND_STEP, TIMESTEP, ArmMotion, ArmServo, simulate_arm

Pair = tuple[ServoModel, ServoModel]

PERIOD = 4.0
"""Duration of one round of a path [s]."""
GAINS = {"low": 0.5, "high": 2.0}
"""Factors on the servo's default gain: 8 and 32 of Table I for the Dynamixel servos, 25 and 100 for the eRob80."""
FINER = 10
"""Number of the truth's time steps in one of the candidates'."""
COULOMB_VISCOUS = "m1"
FITTED_M1, PUBLISHED = "m1 fitted", "{} published"
"""Names of candidates; the truth's own models are named by their friction."""
TWICE = 2.0
"""Smallest ratio of the errors of M1 and M6 in the paper."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ArmCandidate:
    """Candidate models of both joints."""

    name: str
    friction: str
    models: Pair


@dataclass(frozen=True, kw_only=True)
class MotionError:
    """Distance between two motions."""

    joints_mrad: tuple[float, float]
    """Mean absolute error of each joint [mrad]."""
    tip_mm: float
    """Mean distance of the tips [mm]."""

    @property
    def mae_mrad(self) -> float:
        """Mean absolute error of both joints [mrad]."""
        return sum(self.joints_mrad) / 2.0


@dataclass(frozen=True, kw_only=True, eq=False)
class ArmCase:
    """Result of one path with one gain: goals, reference motion and the motion of each candidate."""

    path: str
    gain: str
    time: Array
    """Time [s], shape (n,)."""
    goal: Array
    """Goals [rad], shape (n, 2)."""
    reference: Array
    """True or measured motion [rad], shape (n, 2)."""
    motions: Mapping[str, ArmMotion]
    """Simulated motions by candidate name."""
    errors: Mapping[str, MotionError]
    """Errors by candidate name."""

    @property
    def title(self) -> str:
        """Name in a table."""
        return f"{PATHS.get(self.path, self.path)}, {self.gain}".removesuffix(", ")


@dataclass(frozen=True, kw_only=True, eq=False)
class ArmValidation:
    """Results of all cases of one arm."""

    truth: Pair
    candidates: tuple[ArmCandidate, ...]
    cases: tuple[ArmCase, ...]

    def ratios(self, worse: str, better: str) -> Array:
        """Return the ratio of two candidates' errors for each case, shape (cases,)."""
        return np.array([case.errors[worse].mae_mrad / case.errors[better].mae_mrad for case in self.cases])

    def worst(self, name: str) -> float:
        """Return the largest error of a candidate over the cases [mrad]."""
        return max(case.errors[name].mae_mrad for case in self.cases)

    def rows(self) -> list[dict[str, Any]]:
        """Return the table as plain data: one row per case and candidate."""
        return [
            {
                "path": case.path,
                "gain": case.gain,
                "model": candidate.name,
                "mae_mrad": case.errors[candidate.name].mae_mrad,
                "shoulder_mrad": case.errors[candidate.name].joints_mrad[0],
                "elbow_mrad": case.errors[candidate.name].joints_mrad[1],
                "tip_mm": case.errors[candidate.name].tip_mm,
            }
            for case in self.cases
            for candidate in self.candidates
        ]


def published_models(servos: Iterable[str], friction: str) -> Pair:
    """Load the catalogue's models of shoulder and elbow; raise ModelError if one is missing."""
    shoulder, elbow = (load_model(servo, friction) for servo in servos)
    return shoulder, elbow


def arm_candidates(
    truth: Pair, frictions: Sequence[str] = FRICTION_MODELS, fitting: Callable[[int], object] = lambda joint: None
) -> tuple[ArmCandidate, ...]:
    """Return the candidates for a truth: the published model of each friction, and before M1 the fitted one.

    If a joint's truth has that friction itself, its own model is used. Fitting M1 takes a few seconds per servo;
    `fitting` is called before, with the joint's number. Raises ModelError if a friction model is missing in the
    catalogue for a joint; a published M1 may be missing.
    """
    found: list[ArmCandidate] = []
    for friction in frictions:
        own = all(model.friction == friction for model in truth)
        if friction == COULOMB_VISCOUS and not own:
            fitted: list[ServoModel] = []
            for joint, model in enumerate(truth):
                fitting(joint)
                fitted.append(_fitted_m1(model))
            found.append(ArmCandidate(name=FITTED_M1, friction=friction, models=(fitted[0], fitted[1])))
            if not all(friction in shipped_models(model.servo) for model in truth):
                continue
        shoulder, elbow = (m if m.friction == friction else load_model(m.servo, friction) for m in truth)
        name = friction if own else PUBLISHED.format(friction)
        found.append(ArmCandidate(name=name, friction=friction, models=(shoulder, elbow)))
    return tuple(found)


def gains_of(truth: Pair, gain: str) -> tuple[float, float]:
    """Return the gains of both servos for "low", "high" or a number; raise InputError for anything else."""
    shoulder, elbow = (model.spec.default_kp for model in truth)
    if gain in GAINS:
        return GAINS[gain] * shoulder, GAINS[gain] * elbow
    try:
        kp = float(gain)
    except ValueError:
        kp = np.nan
    if not 0.0 < kp < np.inf:
        raise InputError(f"no gain {gain!r}; available: {', '.join(GAINS)}, or give a number above 0")
    return kp, kp


def arm_servos(models: Pair, gains: tuple[float, float]) -> tuple[ArmServo, ArmServo]:
    """Return servos of these models with the catalogue's settings and these gains."""
    shoulder, elbow = (ArmServo(model=m, settings=m.default_settings(kp)) for m, kp in zip(models, gains, strict=True))
    return shoulder, elbow


def validate_arm(
    links: ArmLinks,
    truth: Pair,
    candidates: Sequence[ArmCandidate],
    paths: Sequence[str] = tuple(PATHS),
    gains: Sequence[str] = tuple(GAINS),
    period: float = PERIOD,
    timestep: float = TIMESTEP,
    on_progress: Callable[[float, str], None] = lambda share, text: None,
) -> ArmValidation:
    """Simulate every path with every gain, for the truth and each candidate; about a second per case.

    Args:
        links: Links of the arm.
        truth: Models of the true servos.
        candidates: Candidates to compare.
        paths: Names of paths.
        gains: Gains, see `gains_of`.
        period: Duration of one round of a path [s].
        timestep: Time step, which divides the interval between commands [s].
        on_progress: Called with the completed share and a description.

    Raises:
        InputError: Impossible paths, gains or times.
        ModelError: A model is unsuitable.
        ExportError: MuJoCo is missing, or a simulation becomes unstable.
    """
    cases: list[ArmCase] = []
    for path in paths:
        way = arm_path(path, links, period, COMMAND_STEP)
        for gain in gains:
            kp = gains_of(truth, gain)
            on_progress(len(cases) / (len(paths) * len(gains)), f"{PATHS[path]}, {gain}")
            real = simulate_arm(links, arm_servos(truth, kp), way.goals, timestep=timestep / FINER)
            motions = {
                c.name: simulate_arm(links, arm_servos(c.models, kp), way.goals, timestep=timestep) for c in candidates
            }
            cases.append(_case(links, path, gain, real.goal, real.position, motions))
    return ArmValidation(truth=truth, candidates=tuple(candidates), cases=tuple(cases))


def validate_recording(
    recording: ArmRecording,
    links: ArmLinks,
    candidates: Mapping[str, Sequence[ArmServo]],
    timestep: float = TIMESTEP,
) -> ArmCase:
    """Simulate a measured arm's commands with each candidate's servos, from rest at its first position.

    Goals are held between samples, as on the arm's bus. Raises InputError if the recording has no goals.
    """
    run = recording.resampled(COMMAND_STEP)
    goals = run.goal
    if goals is None:
        raise InputError(f"recording {run.id} has no goals (goal1, goal2): the arm was not under position control")
    motions = {
        name: simulate_arm(links, servos, goals, timestep=timestep, start=run.position[0])
        for name, servos in candidates.items()
    }
    return _case(links, printable(run.id), "", goals, run.position, motions)


def motion_error(links: ArmLinks, position: Array, reference: Array) -> MotionError:
    """Compare joint angles (n, 2) with reference angles (n, 2) [rad]."""
    shoulder, elbow = 1e3 * np.abs(position - reference).mean(axis=0)
    apart = tip_positions(links, position) - tip_positions(links, reference)
    return MotionError(joints_mrad=(float(shoulder), float(elbow)), tip_mm=1e3 * float(np.hypot(*apart.T).mean()))


def _case(
    links: ArmLinks, path: str, gain: str, goal: Array, reference: Array, motions: Mapping[str, ArmMotion]
) -> ArmCase:
    return ArmCase(
        path=path,
        gain=gain,
        time=COMMAND_STEP * np.arange(len(goal), dtype=np.float64),
        goal=goal,
        reference=reference,
        motions=motions,
        errors={name: motion_error(links, motion.position, reference) for name, motion in motions.items()},
    )


def _fitted_m1(model: ServoModel) -> ServoModel:
    """Fit M1 on a bench that suits the servo, at its default gain and half of it."""
    if model.friction == COULOMB_VISCOUS:
        return model
    bench, settings = default_bench(model), model.default_settings()
    found = approximate(model, bench, settings, Form(kept=model.command_path)).model
    return replace(found, name=f"{model.title}, fitted M1")
