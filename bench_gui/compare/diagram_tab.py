"""Diagram tab: drive/backdrive diagram of the compared models, its speeds and tools."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from bench_gui.compare.diagram import DiagramPlot
from bench_gui.controller import Controller
from bench_gui.plots.tools import PlotTools
from bench_gui.widgets.fields import Section, angle, whole

MOST_FASTER = 5
FASTEST_STEP = 20.0
"""Largest difference between two speeds [rad/s]."""


class DiagramTab(QObject):
    """Draws the diagram on request."""

    changed = Signal()
    """Emitted when the speeds or the unit change and the diagram has to be drawn again."""

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self._controller = controller
        self.plot = DiagramPlot()
        self.tools = PlotTools((self.plot.chart,), self.plot, self._title, controller.save_plot, symbol="τₘ")
        self.plot.body.addWidget(self.tools.readout)
        self.faster = whole("Faster curves", "Number of speeds above standstill", 2, 0, MOST_FASTER)
        self.speed_step = angle(
            "Speed step", "Difference between two speeds", controller.angle_unit, 1.0, 0.01, FASTEST_STEP, per="/s"
        )
        self.settings = Section("Diagram")
        self.settings.row("Faster curves", self.faster)
        self.settings.row("Speed step", self.speed_step)
        self.faster.valueChanged.connect(lambda: self.changed.emit())
        self.speed_step.radians_changed.connect(lambda: self.changed.emit())
        controller.angle_unit_changed.connect(self._unit_changed)

    def draw(self) -> None:
        """Draw the models that are compared."""
        entries = self._controller.comparison.entries
        servos = {entry.model.servo for entry in entries}
        points = [point for point in self._controller.placing.points if point.servo in servos]
        self.plot.show_models(entries, self._speeds, points, self._controller.angle_unit)

    @property
    def _speeds(self) -> list[float]:
        return [self.speed_step.radians * i for i in range(self.faster.value() + 1)]

    def _title(self) -> str:
        unit = self._controller.angle_unit
        speeds = ", ".join(f"{speed * unit.per_radian:g}" for speed in self._speeds)
        paler = ", faster ones paler" if len(self._speeds) > 1 else ""
        return f"{self._controller.comparison.title(())}: at {speeds} {unit.symbol}/s{paler}"

    def _unit_changed(self) -> None:
        self.speed_step.show_in(self._controller.angle_unit)
        self.changed.emit()
