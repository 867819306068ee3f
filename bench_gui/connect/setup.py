"""The bench as it is set up: load, gain and rate of the next runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from PySide6.QtCore import QObject, Signal

from core.bench import Bench
from core.catalogue import ServoSpec
from core.recording import RunHeader, ServoSettings
from core.trajectories import Trajectory
from drivers.simulated.servo import starting_bench

RATE = 200.0
"""[Hz]"""


class BenchSetup(QObject):
    """What every view shows and edits of the bench; one place, so that they agree."""

    changed = Signal()

    def __init__(self, spec: ServoSpec) -> None:
        super().__init__()
        self.spec = spec
        self.bench = _rounded(starting_bench(spec))
        self.kp = spec.default_kp
        self.rate = RATE

    def suit(self, spec: ServoSpec) -> None:
        """Start again from what suits another servo."""
        if spec.name != self.spec.name:
            self.spec = spec
            self.bench = _rounded(starting_bench(spec))
            self.kp = spec.default_kp
            self.changed.emit()

    def set_bench(self, **values: float) -> None:
        """Change fields of the bench, SI units. Raises InputError for what no bench can be."""
        bench = replace(self.bench, **values)
        if bench != self.bench:
            self.bench = bench
            self.changed.emit()

    def set_kp(self, kp: float) -> None:
        """Change the position gain, in the servo's own units."""
        if kp != self.kp:
            self.kp = kp
            self.changed.emit()

    def header(self, trajectory: Trajectory, servo: str, provenance: dict[str, Any]) -> RunHeader:
        """What is known about a run of a trajectory before its first sample."""
        settings = ServoSettings(servo=servo, kp=self.kp, supply_voltage=self.spec.supply_voltage)
        return RunHeader(
            trajectory=trajectory.name,
            bench=self.bench,
            settings=settings,
            rate=self.rate,
            provenance={
                **provenance,
                "trajectory_parameters": trajectory.parameters.numbers(),
                "trajectory_duration": trajectory.duration,
            },
        )


def _rounded(bench: Bench) -> Bench:
    return replace(bench, mass=round(bench.mass, 2) or round(bench.mass, 4))
