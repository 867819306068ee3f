"""How much a friction model matters on an arm: the experiment of seed 004, section VI-B, with a simulated truth.

The truth is an arm whose joints are known servos, simulated at a tenth of the time step. Others take its joints'
places, follow the same commands, and are judged by how far their motion is from the truth's: the mean absolute error
of both joints' angles, as in Fig. 7, and the tip's mean distance. Among them are

- **m1 fitted**: the Coulomb–viscous servo fitted to the truth's motion on the test bench (`core.export.approximation`).
  It is not the best M1 on the arm, where the published one is sometimes closer;
- **m1 published** to **m6 published**: what the catalogue holds for the servo, each identified from its data;
- the truth's own model at the full time step: what the discretisation costs.

`validate_recording` puts a measured arm in the truth's place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from core.arrays import Array
from core.errors import InputError
from core.export.approximation import Form, approximate
from core.export.files import printable
from core.export.references import default_bench
from core.model import ServoModel
from core.shipped import load_model, shipped_models
from core.studies.arm.kinematics import tip_positions
from core.studies.arm.links import ArmLinks
from core.studies.arm.paths import PATHS, arm_path
from core.studies.arm.recording import ArmRecording
from core.studies.arm.simulate import COMMAND_STEP, TIMESTEP, ArmMotion, ArmServo, simulate_arm
from core.terms import FRICTION_MODELS

Pair = tuple[ServoModel, ServoModel]

PERIOD = 4.0
"""Once around a path [s]."""
GAINS = {"low": 0.5, "high": 2.0}
"""In shares of the servo's default gain: 8 and 32 of Table I for the Dynamixel servos, 25 and 100 for the eRob80."""
FINER = 10
"""Time steps of the truth in one of the others."""
COULOMB_VISCOUS = "m1"
FITTED_M1, PUBLISHED = "m1 fitted", "{} published"
"""Names of candidates; the truth's own models go by their friction."""
TWICE = 2.0
"""How many times the error of M6 that of M1 is at least, by the seed."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ArmCandidate:
    """Models that take the joints' places."""

    name: str
    friction: str
    models: Pair


@dataclass(frozen=True, kw_only=True)
class MotionError:
    """How far one motion is from another."""

    joints_mrad: tuple[float, float]
    """Mean absolute error of each joint."""
    tip_mm: float
    """Mean distance of the tips."""

    @property
    def mae_mrad(self) -> float:
        """Mean absolute error of both joints."""
        return sum(self.joints_mrad) / 2.0


@dataclass(frozen=True, kw_only=True, eq=False)
class ArmCase:
    """One path with one gain: what the arm was asked, did, and does with each candidate."""

    path: str
    gain: str
    time: Array
    """(n,) s"""
    goal: Array
    """(n, 2) rad"""
    reference: Array
    """(n, 2) rad: the truth's motion, or the measured one"""
    motions: Mapping[str, ArmMotion]
    """By the candidate's name."""
    errors: Mapping[str, MotionError]
    """Of the same."""

    @property
    def title(self) -> str:
        """How a table names it."""
        return f"{PATHS.get(self.path, self.path)}, {self.gain}".removesuffix(", ")


@dataclass(frozen=True, kw_only=True, eq=False)
class ArmValidation:
    """All cases of one arm."""

    truth: Pair
    candidates: tuple[ArmCandidate, ...]
    cases: tuple[ArmCase, ...]

    def ratios(self, worse: str, better: str) -> Array:
        """Error of one candidate over that of another, by case (cases,)."""
        return np.array([case.errors[worse].mae_mrad / case.errors[better].mae_mrad for case in self.cases])

    def worst(self, name: str) -> float:
        """Largest error of a candidate over the cases [mrad]."""
        return max(case.errors[name].mae_mrad for case in self.cases)

    def rows(self) -> list[dict[str, Any]]:
        """The table: one row a case and candidate; plain data."""
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
    """The catalogue's models of a shoulder and an elbow; raises ModelError where none is shipped."""
    shoulder, elbow = (load_model(servo, friction) for servo in servos)
    return shoulder, elbow


def arm_candidates(truth: Pair, frictions: Sequence[str] = FRICTION_MODELS) -> tuple[ArmCandidate, ...]:
    """Who is compared with a truth, by friction models: the published one of each, and before M1 the fitted one.

    Where a joint's truth has the friction itself, its own model is taken. Fitting M1 takes a few seconds a
    servo. Raises ModelError for a friction model that is not shipped for a joint; a published M1 may be missing.
    """
    found: list[ArmCandidate] = []
    for friction in frictions:
        own = all(model.friction == friction for model in truth)
        if friction == COULOMB_VISCOUS and not own:
            shoulder, elbow = (_fitted_m1(model) for model in truth)
            found.append(ArmCandidate(name=FITTED_M1, friction=friction, models=(shoulder, elbow)))
            if not all(friction in shipped_models(model.servo) for model in truth):
                continue
        shoulder, elbow = (m if m.friction == friction else load_model(m.servo, friction) for m in truth)
        name = friction if own else PUBLISHED.format(friction)
        found.append(ArmCandidate(name=name, friction=friction, models=(shoulder, elbow)))
    return tuple(found)


def gains_of(truth: Pair, gain: str) -> tuple[float, float]:
    """Proportional gains of both servos: "low", "high", or a number for both; raises InputError for others."""
    shoulder, elbow = (model.spec.default_kp for model in truth)
    if gain in GAINS:
        return GAINS[gain] * shoulder, GAINS[gain] * elbow
    try:
        kp = float(gain)
    except ValueError:
        kp = np.nan
    if not 0.0 < kp < np.inf:
        raise InputError(f"no gain {gain!r}; there are {', '.join(GAINS)}, or give a number above 0")
    return kp, kp


def arm_servos(models: Pair, gains: tuple[float, float]) -> tuple[ArmServo, ArmServo]:
    """Models with their catalogue's settings and these gains."""
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
    """Simulate every path with every gain, the truth and each candidate; about a second a case.

    period: once around a path [s]; timestep [s]: a whole part of the time between commands; on_progress: gets a share
    and a text. Raises InputError, ModelError or ExportError.
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
    """Simulate a measured arm's commands with each candidate's servos, from rest where it began.

    Between samples the goals are held, as the arm's bus held them. Raises InputError when the recording has no goals.
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
    """Compare joint angles (n, 2) with others (n, 2) [rad]."""
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
    """On the bench that suits the servo, over its default gain and half of it."""
    if model.friction == COULOMB_VISCOUS:
        return model
    bench, settings = default_bench(model), model.default_settings()
    found = approximate(model, bench, settings, Form(kept=model.command_path)).model
    return replace(found, name=f"{model.title}, fitted M1")
