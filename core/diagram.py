"""Drive/backdrive diagrams: what a servo can move, hold, and be moved by (seed 004, sections II-C and III-F).

The motor torque τ_m and the external torque τ_e oppose each other. For one τ_m, and seen along it, the external torque
passes three areas as it grows against the motor:

    drive    |τ_m| − |τ_e| > τ_f^m      the servo moves along τ_m
    static   ||τ_m| − |τ_e|| ≤ τ_f^m    friction holds
    backdrive |τ_e| − |τ_m| > τ_f^m     the servo moves along τ_e

The **drive torque** is the τ_e between drive and static, the **backdrive torque** the τ_e between static and backdrive;
on both |τ_m + τ_e| = τ_f^m(τ_m, τ_e, θ̇). They are signed torques: for τ_m ≥ 0 both are ≤ 0 and backdrive lies below
drive ("highest" and "smallest" in section II-C speak of the magnitude against the motor); for τ_m < 0 everything is
mirrored. A τ_e along the motor is outside the diagram, and τ_m = 0 is read as the limit from above.

Every model has a closed form. With m = |τ_m|, e = |τ_e| and opposing signs, K·τ_m − K'·τ_e = ±(K·m + K'·e), so no
absolute value of eqs (7)–(10) changes its branch; M1–M5 are M6 with zeros (`lift_friction`). With s = exp(−|θ̇/v_s|^α),

    a₀ = K_v·|θ̇| + K_c + K_m·m + s·(K_c^s + K_m^s·m),   a₁ = K_e + s·K_e^s,   q = s·K_e^q,

    drive (e < m):      m − e = a₀ + a₁·e + q·e²          one root, as the left falls and the right grows with e;
    backdrive (e > m):  e − m = a₀ + a₁·e + s·K_m^q·m²    e = (m + a₀ + s·K_m^q·m²)/(1 − a₁) if a₁ < 1, else none.

Each boundary is therefore the only one, and the static area has no gap. The two readings of the quadratic term
(`ServoModel.quadratic_gate`) differ only where the torques help each other: both give the same diagram.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.arrays import Array
from core.errors import ModelError
from core.friction import budget_of_load
from core.model import ServoModel
from core.tabular import Tabular

NAMED = 0.06
"""Height of an area that has room for its name, as a share of the largest external torque."""
CURVE_POINTS = 201
"""Motor torques of a diagram nobody chose them for; odd, so that 0 is one of them."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DriveBackdriveDiagram(Tabular):
    """Both boundaries over motor torque, at several speeds."""

    motor_torque: Array
    """(n,) N·m"""
    velocity: Array
    """(k,) rad/s"""
    drive: Array
    """(n, k) N·m; NaN where the motor cannot move even the unloaded shaft."""
    backdrive: Array
    """(n, k) N·m; −inf (for a motor torque ≥ 0) or inf where no external torque moves the servo back."""
    self_locking: NDArray[np.bool_]
    """(k,) whether no external torque, however large, moves the servo against its motor at that speed."""

    def heading(self) -> str:
        """Return the span of the diagram."""
        low, high = self.motor_torque.min(), self.motor_torque.max()
        return f"drive and backdrive torque for motor torques of {low:.3g} to {high:.3g} N·m"

    def columns(self) -> Mapping[str, Array]:
        """Return motor torque and both boundaries at each speed [N·m], (n,) each."""
        at_speeds = [(f"at {speed:g} rad/s", k) for k, speed in enumerate(self.velocity)]
        return {
            "motor torque": self.motor_torque,
            **{f"drive {speed}": self.drive[:, k] for speed, k in at_speeds},
            **{f"backdrive {speed}": self.backdrive[:, k] for speed, k in at_speeds},
        }

    def plot(self, axes: Any = None) -> Any:
        """Draw both boundaries over motor torque.

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
    """Budget along opposing torques: a₀ + a₁·e + q·e² below the diagonal, a₀ + a₁·e + r above it."""

    constant: Array
    slope: Array
    drive_square: Array
    backdrive_constant: Array


def _budget_line(model: ServoModel, motor_torque: Array, velocity: Array) -> _Line:
    budget = budget_of_load(model.friction, model.values, velocity)
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
    """External torque up to which the motor moves the servo along itself [N·m], with the sign against the motor.

    motor_torque [N·m] and velocity [rad/s] broadcast. NaN: friction holds even the unloaded shaft, there is no drive.
    Raises ModelError for numbers that are not finite.
    """
    tm, v = _finite(motor_torque, velocity)
    line = _budget_line(model, tm, v)
    spare = np.abs(tm) - line.constant
    linear = 1.0 + line.slope
    # The root that stays exact when the quadratic term vanishes.
    discriminant = linear * linear + 4.0 * line.drive_square * np.maximum(spare, 0.0)
    magnitude = 2.0 * spare / (linear + np.sqrt(discriminant))
    return _against(tm, np.where(spare >= 0.0, magnitude, np.nan))


def backdrive_torque(model: ServoModel, motor_torque: ArrayLike, velocity: ArrayLike = 0.0) -> Array:
    """External torque from which on the servo moves against its motor [N·m], with the sign against the motor.

    motor_torque [N·m] and velocity [rad/s] broadcast. Infinite: the servo locks itself (K_e + s·K_e^s ≥ 1). Raises
    ModelError for numbers that are not finite.
    """
    tm, v = _finite(motor_torque, velocity)
    line = _budget_line(model, tm, v)
    share = np.broadcast_to(1.0 - line.slope, np.broadcast_shapes(tm.shape, v.shape))
    needed = np.abs(tm) + line.constant + line.backdrive_constant
    magnitude = np.divide(needed, share, out=np.full(share.shape, np.inf), where=share > 0.0)
    return _against(tm, magnitude)


def self_locking(model: ServoModel, velocity: ArrayLike = 0.0) -> NDArray[np.bool_]:
    """Whether no external torque moves the servo against its motor at a speed [rad/s], shape of velocity."""
    _, v = _finite(0.0, velocity)
    return _budget_line(model, np.zeros(()), v).slope >= 1.0


def peak_torque(model: ServoModel) -> float:
    """Largest motor torque of a standing servo at its nominal supply [N·m]."""
    stall_current = model.supply_voltage / model.values["R"]
    limit = model.control.output_limit
    current = min(limit, stall_current) if model.control.law == "current" else limit * stall_current
    return model.values["kt"] * current


def reachable_torque(model: ServoModel) -> float:
    """Largest motor torque of a diagram [N·m]: the motor's peak, but no more than the servo's rated stall torque."""
    return min(peak_torque(model), model.spec.stall_torque)


def torque_range(largest: float, points: int = CURVE_POINTS) -> Array:
    """Motor torques from −largest to largest [N·m], (points,), mirrored exactly; `largest` alone for one point."""
    if points == 1:
        return np.array([largest])
    return largest * ((2.0 * np.arange(points) - (points - 1)) / (points - 1))


def halves(motor_torque: Array, boundary: Array) -> tuple[Array, Array]:
    """A boundary to draw, both (n + 2,): NaN where it is infinite, and a jump at 0 to its mirror image, without a line.

    motor_torque: (n,) N·m, ascending; boundary: (n,) N·m.
    """
    finite = np.where(np.isfinite(boundary), boundary, np.nan)
    negative = int(np.searchsorted(motor_torque, 0.0))
    at_zero = negative < len(motor_torque) and motor_torque[negative] == 0.0
    # The curve at 0 is that of positive torques; that of negative ones ends at its mirror image.
    end = -finite[negative] if at_zero and negative else np.nan
    return np.insert(motor_torque, negative, (0.0, 0.0)), np.insert(finite, negative, (end, np.nan))


def areas(diagram: DriveBackdriveDiagram) -> list[tuple[str, Array, Array, Array]]:
    """Areas of the first speed as in Fig. 2: name, motor torque, and the external torques between, (k,) N·m each.

    For each sign of the motor torque "drive" lies between no external torque and the drive torque, "static" goes on to
    the backdrive torque, and "backdrive" up to the largest external torque of the diagram.
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
    """Name of each area of one side that has room for it, with the torques [N·m] of its middle where it is widest."""
    places: list[tuple[str, float, float]] = []
    for name, torque, low, high in areas(diagram)[:3]:
        inside = (np.abs(torque) >= 0.2 * np.abs(torque).max()) & (np.abs(torque) <= 0.8 * np.abs(torque).max())
        k = int(np.where(inside, np.abs(high - low), -1.0).argmax())
        if abs(high[k] - low[k]) >= NAMED * farthest(diagram):
            places.append((name, float(torque[k]), float(low[k] + high[k]) / 2.0))
    return places


def farthest(diagram: DriveBackdriveDiagram) -> float:
    """Largest external torque of a diagram [N·m]: that of its boundaries at the first speed where they are finite."""
    values = np.abs(np.concatenate((diagram.drive[:, 0], diagram.backdrive[:, 0], diagram.motor_torque)))
    return float(values[np.isfinite(values)].max())


def drive_backdrive_diagram(
    model: ServoModel, motor_torque: ArrayLike | None = None, velocity: Sequence[float] | ArrayLike = (0.0,)
) -> DriveBackdriveDiagram:
    """Both boundaries at each motor torque (n,) [N·m] and speed (k,) [rad/s].

    Without motor torques the diagram spans what the servo can reach, both ways. Raises ModelError.
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
