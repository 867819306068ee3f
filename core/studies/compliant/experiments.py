"""The simulated experiments of seed 003, soft and stiff: steps, a chirp, a sinusoid, the arm of two joints, the box.

Each is run as the seed runs it (section and figure are named) and says in numbers what the seed reports in words. What
the seed does not print is said where it is chosen: the load of its single joint stands for that of section 4.2 too, and
the springs of section 4.2 are those of the data sheet (`core.studies.compliant.arm.DATASHEET`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.arrays import Array
from core.errors import ModelError
from core.studies.arm.kinematics import joint_angles, tip_positions
from core.studies.arm.links import ArmLinks
from core.studies.compliant.arm import (
    DATASHEET,
    FLANGE,
    FLANGE_INERTIA,
    Box,
    CompliantArm,
    CompliantArmMotion,
    carrying,
    equilibrium_for,
    link_equilibrium,
    simulate_compliant_arm,
)
from core.studies.compliant.elastic import SEED_ACTUATORS, CompliantActuator, Sea
from core.studies.compliant.joint import SEED_BENCH, CompliantJoint, CompliantLink, JointMotion, simulate_joint
from core.studies.compliant.learning import Reference, chirp, chirp_phase, held_step, minimum_jerk, sinusoid
from core.studies.compliant.modes import Mode

AMPLITUDE = 0.8
"""Of steps and sinusoids, sections 4.1 and 4.2.2 [rad]"""
RATE = 0.8
"""ω of eq. (12) [rad/s]"""
CHIRP_AMPLITUDE = 0.15
"""Section 4.2.1 [rad]"""
CHIRP_BAND = (0.5, 6.0)
"""As above [Hz]"""
SEA_STIFFNESS = (200.0, 400.0)
"""Soft and stiff, section 4.1 [N·m/rad]"""
BEHAVIOURS, OWN = ("soft", "stiff"), "own"
TEMPLATE_DAMPING = 0.02
"""Of the joint in the toolbox's URDF templates, where friction is 0: section 4.1 says nothing of either [N·m·s/rad]"""
SETTLED = 0.02
"""A step has settled when it stays within this share of its height around its end."""
NOTICED = 0.01
"""A link that swings has turned back when it comes back by more than this [rad]."""
HALF_POWER = math.sqrt(0.5)
"""A bandwidth ends where the magnitude has fallen to this share of its first value."""
TURNS = 2.0
"""Periods of a chirp that one point of a frequency response is measured over."""
FIRST_TURNS = 1.0
"""Periods that the link gets to swing in."""
ARM_REACH = (0.168, 0.180)
"""Upper arm and forearm of the arm of five joints [m] (NMMI/EGO, ego_robot.urdf)"""
BOX_WAY = (0.0, 0.2)
"""x of the tip at the start and at the end; the box is in the middle [m]"""
BOX_BESIDE = -0.25
"""z of the tip's way and of the middle of the box [m]"""


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """An actuator made soft or stiff."""

    name: str
    """Of BEHAVIOURS, or what a person calls it"""
    actuator: CompliantActuator
    preset: float
    """In the actuator's unit"""

    @property
    def title(self) -> str:
        """With the number that makes it so, e.g. "soft, 0.2 rad"."""
        if isinstance(self.actuator, Sea):
            return f"{self.name}, {self.actuator.stiffness:g} N·m/rad"
        if not self.actuator.preset_unit:
            return self.name
        return f"{self.name}, {self.preset:g} {self.actuator.preset_unit}"


def behaviours(actuator: CompliantActuator) -> tuple[Behaviour, ...]:
    """An actuator soft and stiff by its presets of section 4.1, or as it is if it has no preset."""
    if not actuator.preset_unit:
        return (Behaviour(name=OWN, actuator=actuator, preset=0.0),)
    presets = (actuator.soft_preset, actuator.stiff_preset)
    return tuple(Behaviour(name=n, actuator=actuator, preset=p) for n, p in zip(BEHAVIOURS, presets, strict=True))


def seed_behaviours() -> tuple[Behaviour, ...]:
    """The seed's actuators soft and stiff, the series spring by two stiffnesses (section 4.1)."""
    found: list[Behaviour] = []
    for kind in SEED_ACTUATORS.values():
        if kind is Sea:
            pairs = zip(BEHAVIOURS, SEA_STIFFNESS, strict=True)
            found += [Behaviour(name=name, actuator=Sea(stiffness=k), preset=0.0) for name, k in pairs]
        else:
            found += behaviours(kind())
    return tuple(found)


@dataclass(frozen=True, kw_only=True, eq=False)
class JointRun:
    """One joint, one behaviour, one reference."""

    behaviour: Behaviour
    wanted: Array
    """(n,) rad: the equilibrium that was asked for"""
    motion: JointMotion

    @property
    def final_error(self) -> float:
        """Asked for less where the link is at the end [rad]"""
        return float(self.wanted[-1] - self.motion.position[-1])

    @property
    def link_equilibrium(self) -> Array:
        """Where the springs alone would hold the link, by the motors' positions, as in Fig. 11, (n,) rad."""
        return self.behaviour.actuator.equilibrium(self.motion.motor_1, self.motion.motor_2)

    @property
    def overshoot(self) -> float:
        """How far the link went beyond its last position, or 0 [rad]"""
        return float(max(np.max(self.motion.position) - self.motion.position[-1], 0.0))

    @property
    def settling_time(self) -> float:
        """From when on the link stays within `SETTLED` of its end [s]"""
        band = SETTLED * abs(float(self.motion.position[-1] - self.motion.position[0]))
        away = np.flatnonzero(np.abs(self.motion.position - self.motion.position[-1]) > band)
        return float(self.motion.time[min(away[-1] + 1, len(self.motion.time) - 1)]) if len(away) else 0.0

    @property
    def worst_error(self) -> float:
        """Largest distance between what was asked for and the link [rad]"""
        return float(np.max(np.abs(self.wanted - self.motion.position)))


def step_responses(
    actuators: Sequence[CompliantActuator] | None = None,
    goal: float = AMPLITUDE,
    duration: float = 0.5,
    sample: float = 5e-4,
) -> list[JointRun]:
    """A step of the equilibrium to `goal` [rad] from rest at 0, soft and stiff (section 4.1, Fig. 7).

    Operation mode 3; 0.2 kg at 0.04 m under gravity. actuators: those of the seed by default; duration, sample [s].
    """
    link = CompliantLink.of_bench(SEED_BENCH, damping=TEMPLATE_DAMPING, friction=0.0)
    wanted = held_step([goal], duration, sample)
    return [
        _joint_run(each, link, Mode.SPRING_EQ_PRES, wanted)
        for each in (seed_behaviours() if actuators is None else [b for a in actuators for b in behaviours(a)])
    ]


@dataclass(frozen=True, kw_only=True, eq=False)
class FrequencyResponse:
    """How a link follows a chirp of the equilibrium."""

    run: JointRun
    frequency: Array
    """(m,) Hz"""
    magnitude: Array
    """(m,) link over equilibrium, of the part that swings with the chirp [rad/rad]"""
    phase: Array
    """(m,) rad, negative where the link lags"""

    @property
    def bandwidth(self) -> float:
        """Where the magnitude first falls below `HALF_POWER` of its first value [Hz]; infinite where it does not."""
        below = np.flatnonzero(self.magnitude < HALF_POWER * self.magnitude[0])
        return float(self.frequency[below[0]]) if len(below) else math.inf


def frequency_responses(
    actuator: CompliantActuator = DATASHEET,
    amplitude: float = CHIRP_AMPLITUDE,
    band: tuple[float, float] = CHIRP_BAND,
    duration: float = 40.0,
    sample: float = 2e-3,
    link: CompliantLink | None = None,
) -> list[FrequencyResponse]:
    """Response to a chirp of the equilibrium, soft and stiff (section 4.2.1, Fig. 11).

    Operation mode 6, one joint with damping and friction of section 4.2. amplitude [rad], band [Hz], duration, sample
    [s]. The magnitude is that of the commanded chirp, so the motors' part in it is included. Raises ModelError when the
    chirp is too short for its lowest frequency.
    """
    wanted = chirp([amplitude], *band, duration, sample)
    phase = chirp_phase(*band, duration, wanted.time)
    return [
        _response(_joint_run(each, link or CompliantLink.of_bench(SEED_BENCH), Mode.PID_EQ_PRES, wanted), phase)
        for each in behaviours(actuator)
    ]


def sinusoid_runs(
    actuator: CompliantActuator = DATASHEET,
    amplitude: float = AMPLITUDE,
    rate: float = RATE,
    duration: float = 16.0,
    sample: float = 5e-3,
    link: CompliantLink | None = None,
) -> list[JointRun]:
    """One joint along the sinusoid of eq. (12), soft and stiff, operation mode 6 under gravity.

    amplitude [rad], rate [rad/s], duration, sample [s].
    """
    wanted = sinusoid([amplitude], rate, duration, sample)
    return [
        _joint_run(each, link or CompliantLink.of_bench(SEED_BENCH), Mode.PID_EQ_PRES, wanted)
        for each in behaviours(actuator)
    ]


@dataclass(frozen=True, kw_only=True, eq=False)
class ArmRun:
    """The arm of two joints, one behaviour, one reference of its equilibrium positions."""

    behaviour: Behaviour
    arm: CompliantArm
    motion: CompliantArmMotion

    @property
    def worst(self) -> Array:
        """Largest distance of each link from what was asked for, (2,) rad"""
        return np.max(np.abs(self.motion.equilibrium - self.motion.position), axis=0)

    @property
    def error_norm(self) -> Array:
        """‖q̂ − q‖₂ of both links at each instant, (n,) rad"""
        return np.linalg.norm(self.motion.equilibrium - self.motion.position, axis=1)

    @property
    def link_equilibrium(self) -> Array:
        """Where the springs alone would hold each link, by the motors' positions; Figs 12 and 13, (n, 2) rad."""
        return link_equilibrium(self.arm, self.motion)

    @property
    def final_error(self) -> Array:
        """Asked for less where the links are at the end, (2,) rad"""
        return self.motion.equilibrium[-1] - self.motion.position[-1]

    @property
    def turns(self) -> NDArray[np.int64]:
        """How often each link turned back by more than `NOTICED` while it swung to its end, (2,)"""
        return np.array([_turns(column) for column in self.motion.position.T])


def arm_steps(arm: CompliantArm | None = None, goal: float = AMPLITUDE, duration: float = 2.0) -> list[ArmRun]:
    """A step of both joints to `goal` [rad] in a horizontal plane, soft and stiff (section 4.2.2, Fig. 12)."""
    return _arm_runs((arm or arm_of(DATASHEET)).with_gravity(0.0), held_step([goal, goal], duration))


def arm_sinusoids(
    arm: CompliantArm | None = None, amplitude: float = AMPLITUDE, rate: float = RATE, duration: float = 16.0
) -> list[ArmRun]:
    """Both joints along the sinusoid of eq. (12) in a vertical plane, soft and stiff (section 4.2.2, Fig. 13)."""
    return _arm_runs(arm or arm_of(DATASHEET), sinusoid([amplitude, amplitude], rate, duration))


def arm_of(actuator: CompliantActuator, links: ArmLinks | None = None) -> CompliantArm:
    """An arm with the same actuator in both joints, soft if it can be; links: those of `TWO_JOINTS` by default."""
    soft = behaviours(actuator)[0]
    presets = (soft.preset, soft.preset)
    actuators = (soft.actuator, soft.actuator)
    if links is None:
        return CompliantArm(actuators=actuators, presets=presets)
    return CompliantArm(links=links, actuators=actuators, presets=presets)


@dataclass(frozen=True, kw_only=True, eq=False)
class BoxRun:
    """An arm whose tip meets a box on its way."""

    behaviour: Behaviour
    arm: CompliantArm
    box: Box
    way: Array
    """(n, 2) m: where the tip was wanted"""
    tip: Array
    """(n, 2) m: where it was"""
    motion: CompliantArmMotion

    @property
    def pushed(self) -> float:
        """How far the box was moved [m]"""
        return float(self.motion.box[-1] - self.box.face)

    @property
    def short(self) -> float:
        """How far before its goal the tip stopped, along x [m]"""
        return float(self.way[-1, 0] - self.tip[-1, 0])


def box_on_the_way() -> Box:
    """The seed's box in the middle of the tip's way."""
    box = Box(face=0.5 * sum(BOX_WAY), edge=0.0)
    return replace(box, edge=BOX_BESIDE - 0.5 * box.side)


def box_runs(
    actuator: CompliantActuator = DATASHEET, box: Box | None = None, duration: float = 4.0, step: float = 5e-3
) -> list[BoxRun]:
    """A tip on a straight way, in whose middle there is a box of 2 kg, soft and stiff (section 4.2.3, Fig. 14).

    Here the arm is one of two joints with the lengths of the seed's arm of five, in a horizontal plane half a box above
    the ground, so that gravity does not load its springs, which would stiffen them. Joint angles of the way by inverse
    kinematics, deflections by gravity added, as the seed does. duration of the way, step [s].
    """
    (mass, centre, inertia), (last, tip_at) = carrying(ARM_REACH[0]), (FLANGE, 0.5 * ARM_REACH[1])
    links = ArmLinks(
        masses=(mass, last),
        lengths=ARM_REACH,
        centres=(centre, tip_at),
        inertias=(inertia, FLANGE_INERTIA + FLANGE * ARM_REACH[1] ** 2 / 3.0),
        gravity=0.0,
    )
    share = minimum_jerk([1.0], duration, step, hold=2.0).angles[:, 0]
    start, end = BOX_WAY
    way = np.column_stack([start + share * (end - start), np.full(len(share), BOX_BESIDE)])
    angles = joint_angles(links, way)
    box = box or box_on_the_way()
    runs: list[BoxRun] = []
    for each in behaviours(actuator):
        arm = CompliantArm(links=links, actuators=(each.actuator, each.actuator), presets=(each.preset, each.preset))
        motion = simulate_compliant_arm(arm, equilibrium_for(arm, angles), step, start=angles[0], rest=2.0, box=box)
        runs.append(
            BoxRun(behaviour=each, arm=arm, box=box, way=way, tip=tip_positions(links, motion.position), motion=motion)
        )
    return runs


def _turns(angle: Array) -> int:
    """Turning points (n,) rad after which it goes back by more than `NOTICED`."""
    count, extreme, direction = 0, float(angle[0]), 0.0
    for value in angle:
        if direction == 0.0:
            direction = float(np.sign(value - extreme))
        if direction * (value - extreme) > 0.0:
            extreme = float(value)
        elif direction * (extreme - value) > NOTICED:
            count, extreme, direction = count + 1, float(value), -direction
    return count


def _joint_run(each: Behaviour, link: CompliantLink, mode: Mode, wanted: Reference) -> JointRun:
    angles = wanted.angles[:, 0]
    motion = simulate_joint(
        CompliantJoint(actuator=each.actuator, link=link), mode, angles, each.preset, wanted.step, position=0.0
    )
    return JointRun(behaviour=each, wanted=angles, motion=motion)


def _arm_runs(arm: CompliantArm, reference: Reference) -> list[ArmRun]:
    runs: list[ArmRun] = []
    for one, two in zip(*(behaviours(actuator) for actuator in arm.actuators), strict=True):
        made = replace(arm, actuators=(one.actuator, two.actuator), presets=(one.preset, two.preset))
        motion = simulate_compliant_arm(made, reference.angles, reference.step)
        runs.append(ArmRun(behaviour=one, arm=made, motion=motion))
    return runs


def _response(run: JointRun, phase: Array) -> FrequencyResponse:
    """Magnitude and phase along a chirp whose phase (n,) [rad] is known.

    Over a window of TURNS periods, the link is fitted by a constant, a slope and both quadratures of the chirp.
    """
    time, link = run.motion.time, run.motion.position
    amplitude = float(np.max(np.abs(run.wanted)))
    frequency: list[float] = []
    magnitude: list[float] = []
    lag: list[float] = []
    turns = phase / (2.0 * np.pi)
    centres = np.arange(FIRST_TURNS + 0.5 * TURNS, turns[-1] - 0.5 * TURNS, 0.5)
    if not len(centres):
        raise ModelError(f"a chirp of {time[-1]:g} s is too short for a frequency response; make it longer")
    rates = np.gradient(turns, time)
    for centre in centres:
        kept = np.abs(turns - centre) <= 0.5 * TURNS
        columns = np.column_stack(
            [np.sin(phase[kept]), np.cos(phase[kept]), np.ones(np.count_nonzero(kept)), turns[kept] - centre]
        )
        along, across, *_ = np.linalg.lstsq(columns, link[kept], rcond=None)[0]
        frequency.append(float(np.interp(centre, turns, rates)))
        magnitude.append(math.hypot(along, across) / amplitude)
        lag.append(math.atan2(across, along))
    return FrequencyResponse(
        run=run, frequency=np.array(frequency), magnitude=np.array(magnitude), phase=np.unwrap(np.array(lag))
    )
