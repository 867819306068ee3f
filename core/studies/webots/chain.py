"""Servos in series (section 3.42.11): each moves a body and is mounted on the previous servo or on another one.

Coordinates x are the joints' own. A body is at the sum of x from the base up to it, all about one axis or along one
line. With the inertia M in these coordinates, the dampers B and the time step h, the velocity at the end of a step
solves

    (M/h + B)·v = M/h·v₀ + gravity + springs + applied forces + motors + stops,

in which each motor and each stop is a decreasing function of its own joint's v alone. The solution is therefore the
minimum of a convex function, quadratic between its kinks, the velocities at which a motor or a stop begins to push.
Gauss–Seidel sweeps find the joints at a kink. In between, the other joints move to their common optimum, or until one
of them reaches a kink. A single joint needs one such step, the formula of `core.studies.webots.law`. Springs act at the
start of a step, so without a damper they oscillate forever (3.42.9); a time step must be well below their period.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.base.errors import ModelError
from core.studies.webots.fields import ROTATIONAL, Load, ServoFields
from core.studies.webots.law import gravity, reached_velocity
from core.studies.webots.servo import ServoDevice

SWEEPS = 10_000
SETTLED = 1e-14
"""Relative change in a sweep below which it has converged."""
TOUCHING = 1e-9
"""Relative distance from a kink below which a velocity counts as being there."""


class Chain:
    """Servos and their bodies, from the base outwards."""

    def __init__(
        self, servos: Sequence[ServoDevice], loads: Sequence[Load], parents: Sequence[int | None] | None = None
    ) -> None:
        """Connect servos to their bodies.

        Args:
            servos: Servos, from the base outwards.
            loads: Body that each servo moves.
            parents: Index of the servo on which each is mounted, lower than its own, or None for the base. By default
                each servo is mounted on the previous one.

        Raises:
            ModelError: The series is impossible.
        """
        if not servos or len(servos) != len(loads):
            raise ModelError(f"{len(servos)} servos with {len(loads)} bodies: every servo in a series moves one body")
        if len({servo.fields.type for servo in servos}) > 1:
            raise ModelError("servos in series must be all rotational, about one axis, or all linear, along one line")
        self.servos, self.loads = tuple(servos), tuple(loads)
        self._turns = 1.0 if servos[0].fields.type == ROTATIONAL else 0.0
        size = len(servos)
        mounted = [None, *range(size - 1)] if parents is None else parents
        self._up_to: list[list[int]] = []
        """Indices of the servos from the base up to each one."""
        for i, parent in enumerate(mounted):
            self._up_to.append([*([] if parent is None else self._up_to[parent]), i])
        self._beyond = [[k for k in range(size) if i in self._up_to[k]] for i in range(size)]
        """Indices of the bodies that each servo moves."""
        self._mass = [
            [sum(loads[k].inertia for k in self._beyond[i] if k in self._beyond[j]) for j in range(size)]
            for i in range(size)
        ]

    def step(self, step: float, external: Sequence[float] | None = None) -> None:
        """Advance by a time step [s]; `external` is an additional force on each body, e.g. of a hand."""
        servos, size = self.servos, len(self.servos)
        wanted = [servo.wanted(step) for servo in servos]
        available = [servo.available_force for servo in servos]
        on_bodies = self._on_bodies(external)
        resistance = [[mass / step for mass in row] for row in self._mass]
        carried: list[float] = []
        for i, servo in enumerate(servos):
            inertial = sum(resistance[i][j] * servos[j].velocity for j in range(size))
            own = servo.applied_force - servo.fields.spring_constant * servo.position
            carried.append(inertial + sum(on_bodies[k] for k in self._beyond[i]) + own)
            resistance[i][i] += servo.fields.damping_constant
        bounds: list[tuple[float, float]] = []
        for servo in servos:
            low, high = servo.fields.stops
            bounds.append(((low - servo.position) / step, (high - servo.position) / step))
        if size == 1:
            moved = [reached_velocity(resistance[0][0], carried[0], wanted[0], available[0], *bounds[0])]
        else:
            moved = _together(resistance, carried, wanted, available, bounds, [servo.velocity for servo in servos])
        for servo, (velocity, motor), asked in zip(servos, moved, wanted, strict=True):
            servo.move(velocity, asked, motor, step)

    def _on_bodies(self, external: Sequence[float] | None) -> list[float]:
        forces: list[float] = []
        for i, load in enumerate(self.loads):
            place = sum(self.servos[k].position for k in self._up_to[i])
            further = 0.0 if external is None else external[i]
            forces.append(gravity(load.gravity_torque, load.offset, self._turns, place) + further)
        return forces


def single(fields: ServoFields, load: Load, name: str = "servo") -> Chain:
    """Return a chain of one servo with its load."""
    return Chain([ServoDevice(fields, name)], [load])


def _together(
    resistance: list[list[float]],
    carried: list[float],
    wanted: list[float],
    force: list[float],
    bounds: list[tuple[float, float]],
    begin: list[float],
) -> list[tuple[float, float]]:
    """Solve for the velocity and motor force of each joint."""
    size = len(begin)
    found = [(velocity, 0.0) for velocity in begin]
    for _ in range(SWEEPS):
        change = 0.0
        for i in range(size):
            others = sum(resistance[i][j] * found[j][0] for j in range(size) if j != i)
            before = found[i][0]
            found[i] = reached_velocity(resistance[i][i], carried[i] - others, wanted[i], force[i], *bounds[i])
            change = max(change, abs(found[i][0] - before) / (abs(before) + 1e-12))
        free, best = _freely(resistance, carried, wanted, force, bounds, found)
        exact = _confirmed(resistance, carried, wanted, force, bounds, best)
        if exact is not None:
            return exact
        if change < SETTLED:
            break
        share = _until_a_place(wanted, force, bounds, found, free, best)
        found = [(v + share * (b - v), f) for (v, f), b in zip(found, best, strict=True)]
    return found


def _places(wanted: float, force: float, bounds: tuple[float, float]) -> tuple[float, ...]:
    """Return the kinks: velocities at which a joint's motor or stop begins to push."""
    return (wanted, *bounds) if force > 0.0 else bounds


def _freely(
    resistance: list[list[float]],
    carried: list[float],
    wanted: list[float],
    force: list[float],
    bounds: list[tuple[float, float]],
    guess: list[tuple[float, float]],
) -> tuple[list[int], list[float]]:
    """Return the joints that are at no kink, and all velocities with these at their optimum."""
    size = len(guess)
    best = [v for v, _ in guess]
    free = [
        i
        for i, (v, _) in enumerate(guess)
        if not any(abs(v - p) <= TOUCHING * (1.0 + abs(p)) for p in _places(wanted[i], force[i], bounds[i]))
    ]
    rest = [
        carried[i] + guess[i][1] - sum(resistance[i][j] * best[j] for j in range(size) if j not in free) for i in free
    ]
    for i, v in zip(free, _eliminated([[resistance[i][j] for j in free] for i in free], rest), strict=True):
        best[i] = v
    return free, best


def _until_a_place(
    wanted: list[float],
    force: list[float],
    bounds: list[tuple[float, float]],
    begin: list[tuple[float, float]],
    free: list[int],
    end: list[float],
) -> float:
    """Return the share of the way from `begin` to `end` on which no free joint passes a kink."""
    share = 1.0
    for i in free:
        start, way = begin[i][0], end[i] - begin[i][0]
        for place in _places(wanted[i], force[i], bounds[i]):
            if (place - start) * way > 0.0:
                share = min(share, (place - start) / way)
    return share


def _confirmed(
    resistance: list[list[float]],
    carried: list[float],
    wanted: list[float],
    force: list[float],
    bounds: list[tuple[float, float]],
    velocity: list[float],
) -> list[tuple[float, float]] | None:
    """Return velocity and motor force of each joint if these velocities are the solution, otherwise None."""
    exact: list[tuple[float, float]] | None = []
    for i, v in enumerate(velocity):
        others = sum(resistance[i][j] * velocity[j] for j in range(len(velocity)) if j != i)
        found = reached_velocity(resistance[i][i], carried[i] - others, wanted[i], force[i], *bounds[i])
        if abs(found[0] - v) > TOUCHING * (1.0 + abs(v)):
            return None
        exact.append(found)
    return exact


def _eliminated(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Solve a small positive definite system in place, without pivoting."""
    size = len(right)
    for k in range(size):
        for i in range(k + 1, size):
            share = matrix[i][k] / matrix[k][k]
            for j in range(k, size):
                matrix[i][j] -= share * matrix[k][j]
            right[i] -= share * right[k]
    for k in reversed(range(size)):
        right[k] = (right[k] - sum(matrix[k][j] * right[j] for j in range(k + 1, size))) / matrix[k][k]
    return right
