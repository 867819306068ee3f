"""Drive/backdrive diagrams: what a servo can move, hold, and be moved by (seed 004, sections II-C and III-F).

The motor torque τ_m and the external torque τ_e oppose each other. As τ_e grows against a given τ_m, it passes through
three areas:

    drive    |τ_m| − |τ_e| > τ_f^m      the servo moves along τ_m
    static   ||τ_m| − |τ_e|| ≤ τ_f^m    friction holds
    backdrive |τ_e| − |τ_m| > τ_f^m     the servo moves along τ_e

The **drive torque** is the τ_e between drive and static, the **backdrive torque** the τ_e between static and backdrive.
At both, |τ_m + τ_e| = τ_f^m(τ_m, τ_e, θ̇). They are signed torques: for τ_m ≥ 0 both are ≤ 0, and backdrive lies below
drive. ("Highest" and "smallest" in section II-C refer to the magnitude against the motor.) For τ_m < 0 everything is
mirrored. A τ_e along the motor is outside the diagram, and τ_m = 0 is the limit from above.

Every model has a closed form. With m = |τ_m|, e = |τ_e| and opposing signs, K·τ_m − K'·τ_e = ±(K·m + K'·e), so no
absolute value of eqs (7)–(10) changes its branch; M1–M5 are M6 with zeros (`lift_friction`). With the share s of
the Stribeck terms (`stribeck_share`), exp(−|θ̇/v_s|^α) for a rigid contact,

    a₀ = K_v·|θ̇| + K_c + K_m·m + s·(K_c^s + K_m^s·m),   a₁ = K_e + s·K_e^s,   q = s·K_e^q,

    drive (e < m):      m − e = a₀ + a₁·e + q·e²          one root, as the left falls and the right grows with e;
    backdrive (e > m):  e − m = a₀ + a₁·e + s·K_m^q·m²    e = (m + a₀ + s·K_m^q·m²)/(1 − a₁) if a₁ < 1, else none.

Each boundary is therefore unique, and the static area has no gap. The two readings of the quadratic term
(`ServoModel.quadratic_gate`) differ only where the torques act in the same direction, so both give the same diagram.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.base.arrays import Array
from core.base.errors import ModelError
from core.document.table import Tabular
from core.servo.friction import budget_of_load
from core.servo.model import ServoModel

NAMED = 0.06
"""Smallest height of an area that is labelled, as a share of the largest external torque: a name needs this room."""
CURVE_POINTS = 201
"""Number of motor torques in a default diagram; odd, so that 0 is one of them."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DriveBackdriveDiagram(Tabular):
    """Drive and backdrive torque over motor torque, at several speeds.

    Example:
        >>> diagram = sb.drive_backdrive("mx106:m6", [0.5, 1.0], velocity=[0.0, 1.0])
        >>> diagram.backdrive.shape
        (2, 2)
    """

    motor_torque: Array
    """Motor torque [N·m], (n,)."""
    velocity: Array
    """Speed [rad/s], (k,)."""
    drive: Array
    """Drive torque [N·m], (n, k); NaN where the motor cannot move even the unloaded shaft."""
    backdrive: Array
    """Backdrive torque [N·m], (n, k); −inf (motor torque ≥ 0) or inf where no external torque moves the servo back."""
    self_locking: NDArray[np.bool_]
    """True where no external torque, however large, moves the servo against its motor at that speed, (k,)."""

    def heading(self) -> str:
        """Return the range of motor torques."""
        low, high = self.motor_torque.min(), self.motor_torque.max()
        return f"drive and backdrive torque for motor torques of {low:.3g} to {high:.3g} N·m"

    def columns(self) -> Mapping[str, Array]:
        """Return motor torque and both torques at each speed [N·m], (n,) each."""
        at_speeds = [(f"at {speed:g} rad/s", k) for k, speed in enumerate(self.velocity)]
        return {
            "motor torque": self.motor_torque,
            **{f"drive {speed}": self.drive[:, k] for speed, k in at_speeds},
            **{f"backdrive {speed}": self.backdrive[:, k] for speed, k in at_speeds},
        }

    def plot(self, axes: Any = None) -> Any:
        """Draw drive and backdrive torque over motor torque.

        Args:
            axes: Matplotlib axes to draw on. Default: a new figure.

        Returns:
            The axes.
        """
        from matplotlib import pyplot

        axes = axes or pyplot.subplots(figsize=(6, 5), layout="constrained")[1]
        for name, values in list(self.columns().items())[1:]:
            axes.plot(self.motor_torque, values, "-" if name.startswith("drive") else "--", label=name)
        axes.set_xlabel("motor torque [N·m]")
        axes.set_ylabel("external torque [N·m]")
        axes.legend()
        return axes


@dataclass(frozen=True)
class _Line:
    """Friction budget for opposing torques: a₀ + a₁·e + q·e² below the diagonal, a₀ + a₁·e + r above it."""

    constant: Array
    slope: Array
    drive_square: Array
    backdrive_constant: Array


def _budget_line(model: ServoModel, motor_torque: Array, velocity: Array) -> _Line:
    budget = budget_of_load(model.friction, model.values, velocity, model.contact)
    m = np.abs(motor_torque)
    at_rest = budget.at_rest + budget.motor_at_rest * m
    return _Line(
        constant=budget.sliding + budget.motor * m + budget.stribeck * at_rest,
        slope=budget.external + budget.stribeck * budget.external_at_rest,
        drive_square=budget.stribeck * budget.external_quad,
        backdrive_constant=budget.stribeck * budget.motor_quad * m * m,
    )


def _against(motor_torque: Array, magnitude: Array) -> Array:
    return np.where(motor_torque < 0.0, magnitude, -magnitude)


def _finite(motor_torque: ArrayLike, velocity: ArrayLike) -> tuple[Array, Array]:
    tm, v = np.asarray(motor_torque, dtype=np.float64), np.asarray(velocity, dtype=np.float64)
    if not (np.isfinite(tm).all() and np.isfinite(v).all()):
        raise ModelError("a drive/backdrive diagram needs finite motor torques and speeds")
    return tm, v


def drive_torque(model: ServoModel, motor_torque: ArrayLike, velocity: ArrayLike = 0.0) -> Array:
    """Return the largest external torque against which the motor still moves the servo [N·m].

    Its sign is that of a torque against the motor. It is NaN where friction holds even the unloaded shaft.

    Args:
        model: The model.
        motor_torque: Motor torque [N·m], broadcast with `velocity`.
        velocity: Speed [rad/s].

    Raises:
        ModelError: A number is not finite.
    """
    tm, v = _finite(motor_torque, velocity)
    line = _budget_line(model, tm, v)
    spare = np.abs(tm) - line.constant
    linear = 1.0 + line.slope
    # This form of the root stays exact when the quadratic term vanishes.
    discriminant = linear * linear + 4.0 * line.drive_square * np.maximum(spare, 0.0)
    magnitude = 2.0 * spare / (linear + np.sqrt(discriminant))
    return _against(tm, np.where(spare >= 0.0, magnitude, np.nan))


def backdrive_torque(model: ServoModel, motor_torque: ArrayLike, velocity: ArrayLike = 0.0) -> Array:
    """Return the smallest external torque that moves the servo against its motor [N·m].

    Its sign is that of a torque against the motor. It is infinite where the servo locks itself (K_e + s·K_e^s ≥ 1).

    Args:
        model: The model.
        motor_torque: Motor torque [N·m], broadcast with `velocity`.
        velocity: Speed [rad/s].

    Raises:
        ModelError: A number is not finite.
    """
    tm, v = _finite(motor_torque, velocity)
    line = _budget_line(model, tm, v)
    share = np.broadcast_to(1.0 - line.slope, np.broadcast_shapes(tm.shape, v.shape))
    needed = np.abs(tm) + line.constant + line.backdrive_constant
    magnitude = np.divide(needed, share, out=np.full(share.shape, np.inf), where=share > 0.0)
    return _against(tm, magnitude)


def self_locking(model: ServoModel, velocity: ArrayLike = 0.0) -> NDArray[np.bool_]:
    """True where no external torque moves the servo against its motor; velocity in rad/s, any shape."""
    _, v = _finite(0.0, velocity)
    return _budget_line(model, np.zeros(()), v).slope >= 1.0


def peak_torque(model: ServoModel) -> float:
    """Return the largest motor torque at standstill and nominal supply voltage [N·m]."""
    stall_current = model.supply_voltage / model.values["R"]
    limit = model.output_limit
    current = min(limit, stall_current) if model.control.law == "current" else limit * stall_current
    current = min(current, model.control.current_limit or math.inf)
    return model.values["kt"] * current


def reachable_torque(model: ServoModel) -> float:
    """Return the largest motor torque of a diagram [N·m]: the motor's peak, at most the servo's rated stall torque."""
    return min(peak_torque(model), model.spec.stall_torque)


def torque_range(largest: float, points: int = CURVE_POINTS) -> Array:
    """Return exactly mirrored motor torques from −largest to largest [N·m], (points,); for one point, `largest`."""
    if points == 1:
        return np.array([largest])
    return largest * ((2.0 * np.arange(points) - (points - 1)) / (points - 1))


def halves(motor_torque: Array, boundary: Array) -> tuple[Array, Array]:
    """Return a boundary as curves to draw: NaN where it is infinite, and a gap at 0 between the mirrored halves.

    Args:
        motor_torque: Motor torques [N·m], ascending, (n,).
        boundary: External torques [N·m], (n,).

    Returns:
        Motor and external torques, (n + 2,) each.
    """
    finite = np.where(np.isfinite(boundary), boundary, np.nan)
    negative = int(np.searchsorted(motor_torque, 0.0))
    at_zero = negative < len(motor_torque) and motor_torque[negative] == 0.0
    # The curve of positive torques includes 0. That of negative torques ends at its mirror image.
    end = -finite[negative] if at_zero and negative else np.nan
    return np.insert(motor_torque, negative, (0.0, 0.0)), np.insert(finite, negative, (end, np.nan))


def areas(diagram: DriveBackdriveDiagram) -> list[tuple[str, Array, Array, Array]]:
    """Return the areas at the first speed as in Fig. 2.

    For each sign of the motor torque, "drive" reaches from no external torque to the drive torque. "static" continues
    to the backdrive torque, and "backdrive" to the largest external torque of the diagram.

    Returns:
        Name, motor torque, and the lower and upper external torque of each area, (k,) N·m each.
    """
    tm, far = diagram.motor_torque, farthest(diagram)
    found: list[tuple[str, Array, Array, Array]] = []
    for side in (tm > 0.0, tm < 0.0):
        torque, end = tm[side], _against(tm[side], np.full(np.count_nonzero(side), far))
        if not len(torque):
            continue
        drive = np.nan_to_num(diagram.drive[side, 0], nan=0.0)
        backdrive = np.clip(diagram.backdrive[side, 0], -far, far)
        found += [
            ("drive", torque, np.zeros(len(torque)), drive),
            ("static", torque, drive, backdrive),
            ("backdrive", torque, backdrive, end),
        ]
    return found


def area_labels(diagram: DriveBackdriveDiagram) -> list[tuple[str, float, float]]:
    """Return the name and the label position [N·m] of each area of one side that has room for a label."""
    places: list[tuple[str, float, float]] = []
    for name, torque, low, high in areas(diagram)[:3]:
        inside = (np.abs(torque) >= 0.2 * np.abs(torque).max()) & (np.abs(torque) <= 0.8 * np.abs(torque).max())
        k = int(np.where(inside, np.abs(high - low), -1.0).argmax())
        if abs(high[k] - low[k]) >= NAMED * farthest(diagram):
            places.append((name, float(torque[k]), float(low[k] + high[k]) / 2.0))
    return places


def farthest(diagram: DriveBackdriveDiagram) -> float:
    """Return the largest finite external torque of a diagram at the first speed [N·m]."""
    values = np.abs(np.concatenate((diagram.drive[:, 0], diagram.backdrive[:, 0], diagram.motor_torque)))
    return float(values[np.isfinite(values)].max())


def drive_backdrive_diagram(
    model: ServoModel, motor_torque: ArrayLike | None = None, velocity: Sequence[float] | ArrayLike = (0.0,)
) -> DriveBackdriveDiagram:
    """Compute drive and backdrive torque at each motor torque and speed.

    Args:
        model: The model.
        motor_torque: Motor torques [N·m], (n,). None: the range that the servo can reach, in both directions.
        velocity: Speeds [rad/s], (k,).

    Raises:
        ModelError: A number is not finite, or an array has more than one dimension.
    """
    given = torque_range(reachable_torque(model)) if motor_torque is None else motor_torque
    tm, v = _finite(np.atleast_1d(given), np.atleast_1d(velocity))
    if tm.ndim != 1 or v.ndim != 1:
        raise ModelError("a drive/backdrive diagram takes one list of motor torques and one of speeds")
    return DriveBackdriveDiagram(
        motor_torque=tm,
        velocity=v,
        drive=drive_torque(model, tm[:, None], v[None, :]),
        backdrive=backdrive_torque(model, tm[:, None], v[None, :]),
        self_locking=self_locking(model, v),
    )
