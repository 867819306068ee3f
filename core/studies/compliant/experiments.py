"""Simulated experiments of Mengacci et al., soft and stiff: steps, a chirp, a sinusoid, the two-joint arm, the box.

Each is run as in the paper (section and figure are named) and reports in numbers what the paper reports in words.
Choices for what the paper does not print are stated where they are made: the load of its single joint also stands for
that of section 4.2, and the springs of section 4.2 are those of the data sheet
(`core.studies.compliant.arm.DATASHEET`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.base.arrays import Array
from core.base.errors import ModelError
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
"""Amplitude of steps and sinusoids, sections 4.1 and 4.2.2 [rad]."""
RATE = 0.8
"""ω of eq. (12) [rad/s]."""
CHIRP_AMPLITUDE = 0.15
"""Amplitude of the chirp, section 4.2.1 [rad]."""
CHIRP_BAND = (0.5, 6.0)
"""Frequencies of the chirp, section 4.2.1 [Hz]."""
SEA_STIFFNESS = (200.0, 400.0)
"""Soft and stiff series springs, section 4.1 [N·m/rad]."""
BEHAVIOURS, OWN = ("soft", "stiff"), "own"
TEMPLATE_DAMPING = 0.02
"""Joint damping of the toolbox's URDF templates, without friction; section 4.1 gives neither [N·m·s/rad]."""
SETTLED = 0.02
"""Share of a step's height within which it counts as settled."""
NOTICED = 0.01
"""Distance back after which a swinging link counts as reversed [rad]."""
HALF_POWER = math.sqrt(0.5)
"""Share of the initial magnitude at which a bandwidth ends."""
TURNS = 2.0
"""Periods of a chirp in the window of one point of a frequency response."""
FIRST_TURNS = 1.0
"""Periods of the initial transient."""
ARM_REACH = (0.168, 0.180)
"""Upper arm and forearm of the five-joint arm [m] (NMMI/EGO, ego_robot.urdf)."""
BOX_WAY = (0.0, 0.2)
"""x of the tip at the start and at the end, with the box in the middle [m]."""
BOX_BESIDE = -0.25
"""z of the tip's path and of the middle of the box [m]."""


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """Actuator with a soft or stiff setting."""

    name: str
    """Name, one of BEHAVIOURS or a user's own."""
    actuator: CompliantActuator
    preset: float
    """Preset in the actuator's unit."""

    @property
    def title(self) -> str:
        """Name with its number, e.g. "soft, 0.2 rad"."""
        if isinstance(self.actuator, Sea):
            return f"{self.name}, {self.actuator.stiffness:g} N·m/rad"
        if not self.actuator.preset_unit:
            return self.name
        return f"{self.name}, {self.preset:g} {self.actuator.preset_unit}"


def behaviours(actuator: CompliantActuator) -> tuple[Behaviour, ...]:
    """Return an actuator soft and stiff by its presets of section 4.1, or unchanged if it has no preset."""
    if not actuator.preset_unit:
        return (Behaviour(name=OWN, actuator=actuator, preset=0.0),)
    presets = (actuator.soft_preset, actuator.stiff_preset)
    return tuple(Behaviour(name=n, actuator=actuator, preset=p) for n, p in zip(BEHAVIOURS, presets, strict=True))


def seed_behaviours() -> tuple[Behaviour, ...]:
    """Return the paper's actuators soft and stiff, the series spring by two stiffnesses (section 4.1)."""
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
    """Run of one joint with one behaviour and one reference."""

    behaviour: Behaviour
    wanted: Array
    """Commanded equilibrium [rad], shape (n,)."""
    motion: JointMotion

    @property
    def final_error(self) -> float:
        """Commanded minus actual link position at the end [rad]."""
        return float(self.wanted[-1] - self.motion.position[-1])

    @property
    def link_equilibrium(self) -> Array:
        """Link angles at which the springs alone are in equilibrium, as in Fig. 11, (n,) [rad]."""
        return self.behaviour.actuator.equilibrium(self.motion.motor_1, self.motion.motor_2)

    @property
    def overshoot(self) -> float:
        """Overshoot of the link beyond its final position, at least 0 [rad]."""
        return float(max(np.max(self.motion.position) - self.motion.position[-1], 0.0))

    @property
    def settling_time(self) -> float:
        """Time after which the link stays within `SETTLED` of its end [s]."""
        band = SETTLED * abs(float(self.motion.position[-1] - self.motion.position[0]))
        away = np.flatnonzero(np.abs(self.motion.position - self.motion.position[-1]) > band)
        return float(self.motion.time[min(away[-1] + 1, len(self.motion.time) - 1)]) if len(away) else 0.0

    @property
    def worst_error(self) -> float:
        """Largest distance between commanded and actual link position [rad]."""
        return float(np.max(np.abs(self.wanted - self.motion.position)))


def step_responses(
    actuators: Sequence[CompliantActuator] | None = None,
    goal: float = AMPLITUDE,
    duration: float = 0.5,
    sample: float = 5e-4,
) -> list[JointRun]:
    """Simulate a step of the equilibrium to `goal` [rad] from rest at 0, soft and stiff (section 4.1, Fig. 7).

    The load is 0.2 kg at 0.04 m under gravity, in operation mode 3.

    Args:
        actuators: Actuators. None: those of the paper.
        goal: Height of the step [rad].
        duration: Duration [s].
        sample: Sampling interval [s].
    """
    link = CompliantLink.of_bench(SEED_BENCH, damping=TEMPLATE_DAMPING, friction=0.0)
    wanted = held_step([goal], duration, sample)
    return [
        _joint_run(each, link, Mode.SPRING_EQ_PRES, wanted)
        for each in (seed_behaviours() if actuators is None else [b for a in actuators for b in behaviours(a)])
    ]


@dataclass(frozen=True, kw_only=True, eq=False)
class FrequencyResponse:
    """Response of a link to a chirp of the equilibrium."""

    run: JointRun
    frequency: Array
    """Frequencies [Hz], shape (m,)."""
    magnitude: Array
    """Magnitude of link over equilibrium at the chirp's frequency [rad/rad], shape (m,)."""
    phase: Array
    """Phase [rad], negative if the link lags, shape (m,)."""

    @property
    def bandwidth(self) -> float:
        """Frequency at which the magnitude falls below `HALF_POWER` of its first value [Hz]; infinite if never."""
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
    """Simulate the response to a chirp of the equilibrium, soft and stiff (section 4.2.1, Fig. 11).

    One joint with damping and friction of section 4.2, in operation mode 6. The magnitude refers to the commanded
    chirp, so it includes the motors.

    Args:
        actuator: The actuator.
        amplitude: Amplitude of the chirp [rad].
        band: Lowest and highest frequency [Hz].
        duration: Duration [s].
        sample: Sampling interval [s].
        link: The link. None: the paper's.

    Raises:
        ModelError: The chirp is too short for its lowest frequency.
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
    """Move one joint along the sinusoid of eq. (12), soft and stiff, in operation mode 6 under gravity.

    Amplitude in rad, rate in rad/s, duration and sampling interval in s.
    """
    wanted = sinusoid([amplitude], rate, duration, sample)
    return [
        _joint_run(each, link or CompliantLink.of_bench(SEED_BENCH), Mode.PID_EQ_PRES, wanted)
        for each in behaviours(actuator)
    ]


@dataclass(frozen=True, kw_only=True, eq=False)
class ArmRun:
    """Run of the two-joint arm with one behaviour and one reference of its equilibrium positions."""

    behaviour: Behaviour
    arm: CompliantArm
    motion: CompliantArmMotion

    @property
    def worst(self) -> Array:
        """Largest distance of each link from its commanded position, (2,) [rad]."""
        return np.max(np.abs(self.motion.equilibrium - self.motion.position), axis=0)

    @property
    def error_norm(self) -> Array:
        """‖q̂ − q‖₂ of both links at each instant, (n,) [rad]."""
        return np.linalg.norm(self.motion.equilibrium - self.motion.position, axis=1)

    @property
    def link_equilibrium(self) -> Array:
        """Link angles at which the springs alone are in equilibrium, as in Figs 12 and 13, (n, 2) [rad]."""
        return link_equilibrium(self.arm, self.motion)

    @property
    def final_error(self) -> Array:
        """Commanded minus actual link positions at the end, (2,) [rad]."""
        return self.motion.equilibrium[-1] - self.motion.position[-1]

    @property
    def turns(self) -> NDArray[np.int64]:
        """Number of each link's reversals by more than `NOTICED`, (2,)."""
        return np.array([_turns(column) for column in self.motion.position.T])


def arm_steps(arm: CompliantArm | None = None, goal: float = AMPLITUDE, duration: float = 2.0) -> list[ArmRun]:
    """Step both joints to `goal` [rad] in a horizontal plane, soft and stiff (section 4.2.2, Fig. 12)."""
    return _arm_runs((arm or arm_of(DATASHEET)).with_gravity(0.0), held_step([goal, goal], duration))


def arm_sinusoids(
    arm: CompliantArm | None = None, amplitude: float = AMPLITUDE, rate: float = RATE, duration: float = 16.0
) -> list[ArmRun]:
    """Move both joints along the sinusoid of eq. (12) in a vertical plane (section 4.2.2, Fig. 13)."""
    return _arm_runs(arm or arm_of(DATASHEET), sinusoid([amplitude, amplitude], rate, duration))


def arm_of(actuator: CompliantActuator, links: ArmLinks | None = None) -> CompliantArm:
    """Return an arm with the same actuator in both joints, soft if possible; default links are `TWO_JOINTS`."""
    soft = behaviours(actuator)[0]
    presets = (soft.preset, soft.preset)
    actuators = (soft.actuator, soft.actuator)
    if links is None:
        return CompliantArm(actuators=actuators, presets=presets)
    return CompliantArm(links=links, actuators=actuators, presets=presets)


@dataclass(frozen=True, kw_only=True, eq=False)
class BoxRun:
    """Run of an arm whose tip meets a box on its path."""

    behaviour: Behaviour
    arm: CompliantArm
    box: Box
    way: Array
    """Commanded positions of the tip [m], shape (n, 2)."""
    tip: Array
    """Actual positions of the tip [m], shape (n, 2)."""
    motion: CompliantArmMotion

    @property
    def pushed(self) -> float:
        """Distance by which the box was moved [m]."""
        return float(self.motion.box[-1] - self.box.face)

    @property
    def short(self) -> float:
        """Distance along x between the tip's final position and its goal [m]."""
        return float(self.way[-1, 0] - self.tip[-1, 0])


def box_on_the_way() -> Box:
    """Return the paper's box in the middle of the tip's path."""
    box = Box(face=0.5 * sum(BOX_WAY), edge=0.0)
    return replace(box, edge=BOX_BESIDE - 0.5 * box.side)


def box_runs(
    actuator: CompliantActuator = DATASHEET, box: Box | None = None, duration: float = 4.0, step: float = 5e-3
) -> list[BoxRun]:
    """Move a tip along a straight path with a box of 2 kg in its middle, soft and stiff (section 4.2.3, Fig. 14).

    The arm has two joints, with the lengths of the paper's five-joint arm, in a horizontal plane half a box above the
    ground, so that gravity does not load and thereby stiffen its springs. The joint angles come from inverse kinematics
    plus the deflections under gravity, as in the paper. Duration of the path and step in s.
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
    """Count the turning points of angles (n,) [rad] that are followed by a return of more than `NOTICED`."""
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
    """Return magnitude and phase along a chirp whose phase (n,) [rad] is known.

    In a window of TURNS periods, the link is fitted by a constant, a slope and both quadratures of the chirp.
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
