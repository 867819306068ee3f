"""Overlay tab: channel, lower chart, tools, and the pendulum at the time cursor."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QComboBox, QLabel, QToolButton, QWidget

from bench_gui.compare.channels import NAMES, shown
from bench_gui.compare.comparison import POSITION
from bench_gui.compare.playback import Playback
from bench_gui.compare.plots import DIFFERENCE, ERROR, SPECTRUM, ComparePlots
from bench_gui.controller import Controller
from bench_gui.plots.tools import PlotTools
from bench_gui.widgets.fields import Section, choice, label, restyle, tool
from core.base.units import RADIANS, significant

BELOW = [("error", ERROR), ("error spectrum", SPECTRUM), ("difference", DIFFERENCE)]
LONGEST = 14
"""Length of the longest choice [characters]."""


class OverlayTab:
    """Draws the overlay on request."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        comparison = controller.comparison
        self.plots = plots = ComparePlots()
        self.tools = PlotTools(
            plots.charts,
            plots,
            self._title,
            controller.save_plot,
            fit=plots.fit,
            exported=lambda: plots.exported(self._title()),
        )
        self.playback = Playback(plots)
        for part in (self.tools.readout, self.playback):
            plots.body.addWidget(part)
        self.play_button: QToolButton = tool("Pendulum", "Show the pendulum at a time cursor and play the motion")
        self.play_button.setText("▶")
        self.play_button.setCheckable(True)
        self.play_button.toggled.connect(self._show_playback)
        self.tools.add(self.play_button)
        self.channel: QComboBox = choice("Channel", "Recorded channel to draw with its simulation")
        for name in NAMES:
            self.channel.addItem(shown(name, RADIANS).title, name)
        self.channel.setCurrentIndex(self.channel.findData(POSITION))
        self.below: QComboBox = choice(
            "Below", "Show the error, its spectrum, or the difference of two models below the channel"
        )
        for text, what in BELOW:
            self.below.addItem(text, what)
        self.pair = [
            choice("First model of the difference", "Model from which the other is subtracted"),
            choice("Second model of the difference", "Model to subtract"),
        ]
        for box in (self.channel, self.below, *self.pair):
            box.setMinimumContentsLength(LONGEST)
        self.difference: QLabel = label("", "muted")
        self.settings = Section("Curves")
        self.settings.row("Channel", self.channel)
        self.settings.row("Below", self.below)
        self._of_pair: list[QWidget] = [*self.pair, self.difference]
        self._of_pair += [self.settings.row(text, box) for text, box in zip(("Model", "minus"), self.pair, strict=True)]
        self.settings.wide(self.difference)
        self.channel.currentIndexChanged.connect(lambda _: comparison.show_channel(self.channel.currentData()))
        for box in (self.below, *self.pair):
            box.currentIndexChanged.connect(self._show_below)
        controller.angle_unit_changed.connect(self._take_unit)
        self._take_unit()
        self._show_below()
        controller.settings.keep(
            "curves",
            lambda: {"channel": comparison.channel, "below": plots.below},
            lambda data: self._restore(data["channel"], data["below"]),
            self.channel.currentIndexChanged,
            self.below.currentIndexChanged,
        )

    def draw(self) -> None:
        """Draw the comparison's picture."""
        picture = self._controller.comparison.picture
        offered = [entry.key for entry in picture.models]
        if offered != [self.pair[0].itemData(i) for i in range(self.pair[0].count())]:
            for place, box in enumerate(self.pair):
                before = box.currentData()
                with QSignalBlocker(box):
                    box.clear()
                    for entry in picture.models:
                        box.addItem(entry.title, entry.key)
                    box.setCurrentIndex(offered.index(before) if before in offered else min(place, len(offered) - 1))
            self._show_below()
        self.plots.show_picture(picture)
        self._say_difference()

    def _title(self) -> str:
        return self._controller.comparison.title(list(self.plots.shown))

    def play(self) -> None:
        """Show the pendulum and play the motion."""
        self.play_button.setChecked(True)
        self.playback.button.setChecked(True)

    def _restore(self, *choices: Any) -> None:
        boxes = (self.channel, self.below)
        places = [box.findData(choice) for box, choice in zip(boxes, choices, strict=True)]
        if -1 in places:
            raise ValueError(f"nothing of {choices} is offered")
        for box, place in zip(boxes, places, strict=True):
            box.setCurrentIndex(place)

    def _show_below(self) -> None:
        what = self.below.currentData()
        for part in self._of_pair:
            part.setVisible(what == DIFFERENCE)
        one, other = (str(box.currentData() or "") for box in self.pair)
        self.plots.show_below(what, ("", "") if one == other else (one, other))
        self._say_difference()

    def _say_difference(self) -> None:
        found = self.plots.difference
        unit = self.plots.cells[0].residual.left[1]
        text = "" if found is None else f"Mean absolute difference {significant(found, 3)} {unit}".rstrip()
        self.difference.setText(text)

    def _show_playback(self, on: bool) -> None:
        restyle(self.play_button, "kind", "on" if on else "flat")
        self.playback.show_cursor(on)

    def _take_unit(self) -> None:
        unit = self._controller.angle_unit
        self.plots.set_unit(unit)
        self.playback.set_unit(unit)
