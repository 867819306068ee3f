"""Mix-ups in the motions of a robot: angles in another unit, beyond the limits, of the other sign or of another joint.

A servo that holds a joint still gives way to gravity, so its error, goal minus position, has the sign of gravity's
torque and grows with it. Stiction hides this in single samples, not in many. Signs and names of joints under which
gravity fits the errors much better are doubted. The sign of a joint without a gravity load does not show, nor does an
exchange of two joints with parallel axes and similar angles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import numpy as np

from core.base.arrays import Array
from core.base.errors import InputError
from core.robot.chain import Chain, derivatives
from core.robot.motions import ArmMotion
from core.servo.catalogue import load_servo

DEGREES = math.degrees(1.0)
FAR = 2.0
"""Multiple of the largest angle that a joint can have beyond which an angle is not in radians."""
BEYOND = 0.05
"""Angle by which calibrations of one robot differ [rad]."""
ONE_STEP = 0.3
"""Relative distance from the encoder's step within which the smallest change of a position is one step."""
SMALLEST = 1e-7
"""Change of a position that is rounding [rad]."""
AT_REST = 0.02
"""Largest speed at rest, of joints and goals [rad/s]: the encoder's step within a tenth of a second."""
FEWEST_RESTS = 20
"""Samples at rest without which gravity shows nothing."""
MOST_RESTS = 40
"""Samples at rest of one motion that are compared with gravity, at most, so that no long pause outweighs the others."""
BETTER, GOOD = 0.2, 0.3
"""Gain of the agreement with gravity, and least agreement, from which another sign or name is suggested.

For an SO-101 the agreement is 0.62, and no other sign or name gains more than 0.04. Under wrong ones that show, the
right ones gain 0.24 to 0.62.
"""


def doubts(chain: Chain, motions: Sequence[ArmMotion], joints: Sequence[str]) -> list[str]:
    """Return a sentence on each joint whose angles look mixed up.

    Args:
        chain: The robot.
        motions: Its motions.
        joints: Recorded joints that the robot has.

    Raises:
        InputError: The angles are in another unit.
    """
    _check_unit(chain, motions, joints)
    limits = {joint.name: joint for joint in chain.joints}
    found: list[str] = []
    for joint in joints:
        low, high = _range(motions, joint)
        limit = limits[joint]
        if low < limit.lower - BEYOND or high > limit.upper + BEYOND:
            found.append(
                f"{joint} turns from {low:.2f} to {high:.2f} rad, beyond the limits {limit.lower:.2f} to "
                f"{limit.upper:.2f} rad of {chain.file.name}: check its zero and sign"
            )
    return found + _against_gravity(chain, motions, joints)


def _range(motions: Sequence[ArmMotion], joint: str) -> tuple[float, float]:
    positions = [motion.runs[joint].position for motion in motions]
    return min(float(x.min()) for x in positions), max(float(x.max()) for x in positions)


def _check_unit(chain: Chain, motions: Sequence[ArmMotion], joints: Sequence[str]) -> None:
    """Raise InputError for degrees that were read as radians, and for radians that were read as degrees."""
    largest = {joint.name: min(max(abs(joint.lower), abs(joint.upper)), 2.0 * math.pi) for joint in chain.joints}
    reached = {joint: max(map(abs, _range(motions, joint))) for joint in joints}
    far = [joint for joint in joints if reached[joint] > FAR * largest[joint]]
    if far and all(reached[joint] / DEGREES <= FAR * largest[joint] for joint in far):
        raise InputError(
            f"{far[0]} reaches {reached[far[0]]:.3g} rad, {chain.file.name} has {largest[far[0]]:.3g} rad at most: the "
            f"angles of {', '.join(far)} look like degrees; import them again with the unit deg, position=COLUMN:deg"
        )
    spans = [high - low for low, high in (_range(motions, joint) for joint in joints)]
    step = _smallest_change(motions, joints)
    encoder = load_servo(motions[0].runs[joints[0]].settings.servo).encoder_step
    if max(spans) * DEGREES < 2.0 * FAR * math.pi and abs(step * DEGREES / encoder - 1.0) < ONE_STEP:
        raise InputError(
            f"no joint spans more than {max(spans):.2g} rad, and their angles change by {step:.2g} rad at least, where "
            f"the encoder's step is {encoder:.2g} rad: radians were read as degrees; import them again without deg"
        )


def _smallest_change(motions: Sequence[ArmMotion], joints: Sequence[str]) -> float:
    """Return the smallest change of a position from sample to sample [rad]; infinite if none changes."""
    steps = [np.abs(np.diff(motion.positions(joints), axis=0)).ravel() for motion in motions]
    changes = np.concatenate(steps)
    return float(np.min(changes[changes > SMALLEST], initial=math.inf))


def _against_gravity(chain: Chain, motions: Sequence[ArmMotion], joints: Sequence[str]) -> list[str]:
    """Return the change of one sign, or of two names, under which gravity fits the errors at rest much better."""
    servos = [motions[0].runs[joint].settings for joint in joints]
    positions, errors = _rests(motions, joints)
    errors = np.where([bool(settings.ki) for settings in servos], 0.0, np.nan_to_num(errors))
    if len(positions) < FEWEST_RESTS:
        return []

    def agreement(q: Array, error: Array) -> float:
        loads = chain.loads(joints, np.arange(len(q), dtype=np.float64), q)
        gravity = loads[:, :, 1].T * np.sin(q) + loads[:, :, 2].T * np.cos(q)
        sizes = np.linalg.norm(gravity, axis=0) * np.linalg.norm(error, axis=0)
        cosines = np.divide((gravity * error).sum(axis=0), sizes, out=np.zeros(len(joints)), where=sizes > 0.0)
        weights = np.abs(gravity).mean(axis=0)
        return float(cosines @ weights / max(weights.sum(), 1e-12))

    now = agreement(positions, errors)
    others = [(agreement(*other(positions, errors)), words) for other, words in _changes(joints)]
    best, words = max(others, default=(0.0, ""))
    if best < max(GOOD, now + BETTER):
        return []
    return [f"{words}: gravity would then fit the errors at rest with {best:.2f} instead of {now:.2f} (1 is perfect)"]


def _changes(joints: Sequence[str]) -> Iterator[tuple[Callable[[Array, Array], tuple[Array, Array]], str]]:
    """Yield functions that turn one joint or exchange two in positions and errors (n, joints), and words on each."""
    for place, joint in enumerate(joints):
        sign = np.where(np.arange(len(joints)) == place, -1.0, 1.0)
        yield lambda q, e, sign=sign: (q * sign, e * sign), f"the sign of {joint} looks wrong"
    for a, b in combinations(range(len(joints)), 2):
        order = np.arange(len(joints))
        order[[a, b]] = b, a
        yield lambda q, e, order=order: (q[:, order], e[:, order]), f"{joints[a]} and {joints[b]} look exchanged"


def _rests(motions: Sequence[ArmMotion], joints: Sequence[str]) -> tuple[Array, Array]:
    """Return positions and errors at rest [rad], (n, joints) each."""
    positions, errors = [np.empty((0, len(joints)))], [np.empty((0, len(joints)))]
    for motion in motions:
        q, goal = motion.positions(joints), motion.goals(joints)
        speed = np.abs(derivatives(motion.time, q)[0])
        led = np.abs(np.gradient(np.nan_to_num(goal), motion.time, axis=0))
        rests = np.flatnonzero((np.maximum(speed, led) < AT_REST).all(axis=1))
        chosen = rests[:: max(1, len(rests) // MOST_RESTS)]
        positions.append(q[chosen])
        errors.append((goal - q)[chosen])
    return np.concatenate(positions), np.concatenate(errors)
