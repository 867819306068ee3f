"""Comparison of a simulated motion with the measured one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.base.arrays import Array
from core.document.table import Tabular
from core.motion.recording import Recording
from core.motion.simulation import on_grid, simulate_recording
from core.servo.model import ServoModel
from core.servo.terms import Supply


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Tabular):
    """A simulated motion and the measured one at the same times. Arrays are (n,).

    Example:
        >>> run = sb.example().load_all()[0]
        >>> compared = sb.simulate("xl330:m6", run)
        >>> compared.residual.shape == compared.time.shape
        True
    """

    title: str
    """Run and model."""
    time: Array
    """Time [s]."""
    goal: Array
    """Commanded position [rad]."""
    measured: Array
    """Measured position [rad]."""
    simulated: Array
    """Simulated position [rad]."""

    @property
    def residual(self) -> Array:
        """Simulated minus measured position [rad], (n,)."""
        return self.simulated - self.measured

    @property
    def mae(self) -> float:
        """Mean absolute error [rad]."""
        return float(abs(self.residual).mean())

    @property
    def rmse(self) -> float:
        """Root mean square error [rad]."""
        return float((self.residual**2).mean() ** 0.5)

    def heading(self) -> str:
        """Return run, model and error."""
        return f"{self.title}: {len(self.time)} samples, MAE {self.mae * 1e3:.2f} mrad"

    def columns(self) -> Mapping[str, Array]:
        """Return time, goal if it is an angle, measured, simulated and residual, (n,) each."""
        names = ("time", "goal", "measured", "simulated", "residual")
        return {name: getattr(self, name) for name in names if name != "goal" or np.isfinite(self.goal).any()}

    def plot(self, axes: Any = None) -> Any:
        """Draw goal, measured and simulated position over time.

        Args:
            axes: Matplotlib axes to draw on. Default: a new figure.

        Returns:
            The axes.
        """
        from matplotlib import pyplot

        axes = axes or pyplot.subplots(figsize=(8, 4), layout="constrained")[1]
        if np.isfinite(self.goal).any():
            axes.plot(self.time, self.goal, color="0.7", linewidth=1, label="goal")
        axes.plot(self.time, self.measured, color="0.2", label="measured")
        axes.plot(self.time, self.simulated, "--", label=f"simulated, {self.mae * 1e3:.1f} mrad")
        axes.set_xlabel("time [s]")
        axes.set_ylabel("position [rad]")
        axes.set_title(self.title)
        axes.legend()
        return axes


def compare(model: ServoModel, recording: Recording, dt: float | None = None, supply: Supply = "logged") -> Comparison:
    """Simulate the commands of a recording and compare the motions, see `core.motion.simulation.simulate_recording`."""
    measured, _ = on_grid(recording, dt)
    return Comparison(
        title=f"{recording.id}, {model.title}",
        time=measured.time,
        goal=measured.goal_position,
        measured=measured.position,
        simulated=simulate_recording(model, recording, dt, supply).position,
    )
