"""Models tab: mean errors as bars, over all runs, by condition, or by use in the identification."""

from __future__ import annotations

import html

from PySide6.QtWidgets import QComboBox, QLabel, QWidget

from bench_gui.compare.comparison import Comparison
from bench_gui.headless.comparison_tables import Judged, bar_panel, condition_groups, conditions_of, split_groups
from bench_gui.plots.bars import BarChart
from bench_gui.plots.export import on_paper
from bench_gui.state.models import IDENTIFIED
from bench_gui.theme import themes
from bench_gui.widgets.fields import Section, choice, label, vbox
from core.document.plot import BarPanel, BarSeries, Plot, mixed
from core.identification.runs.grouping import Group, heading

SPLIT = "split"
PALE = 0.55
"""Share of the paper's colour in the bars of models that were not identified from the session."""
GROUPS: list[tuple[str, tuple[str, ...] | str]] = [
    ("all runs", ()),
    ("fit, held out", SPLIT),
    ("trajectory", ("trajectory",)),
    ("load", ("mass",)),
    ("length", ("length",)),
    ("gain kp", ("kp",)),
]


class ModelsTab(QWidget):
    """Shows the errors that the comparison knows; requests nothing."""

    def __init__(self, comparison: Comparison) -> None:
        super().__init__()
        self._comparison = comparison
        self.chart = BarChart()
        column = vbox(self, spacing=4)
        self.legend: QLabel = label("", "muted")
        column.addWidget(self.legend)
        column.addWidget(self.chart, 1)
        self.groups: QComboBox = choice("Groups of bars", "Condition that the runs of a group of bars share")
        self.groups.addItems([text for text, _ in GROUPS])
        self.note: QLabel = label("", "muted")
        self.note.setWordWrap(True)
        self.settings = Section("Bars")
        self.settings.row("Group by", self.groups)
        self.settings.wide(self.note)
        self.groups.currentIndexChanged.connect(self.show_errors)
        themes.changed.connect(self.show_errors)

    def show_errors(self) -> None:
        """Draw the bars of the known errors."""
        groups, bottom = self._grouped()
        self.note.setVisible(not groups)
        self.note.setText("" if groups else "The use of these runs is unknown: identify models from them.")
        models = [
            Judged(
                e.title,
                themes.current.model(e.model.friction),
                self._comparison.book.of(e),
                0.0 if e.origin == IDENTIFIED else PALE,
            )
            for e in self._comparison.entries
        ]
        self.chart.show_panel(bar_panel(groups, models, bottom))
        plot = themes.current.plot
        self.legend.setText(
            " &nbsp; ".join(
                f'<span style="color:{mixed(m.colour, plot, m.pale)}">■</span> {html.escape(m.title)}' for m in models
            )
        )

    def contents(self) -> Plot:
        """Bars for an exported file."""
        panel = self.chart.panel
        if panel is None or not panel.groups or not panel.series:
            return Plot(self._comparison.title(), ())
        series = tuple(BarSeries(s.name, on_paper(s.colour), s.values, s.pale) for s in panel.series)
        return Plot(self._comparison.title(), (BarPanel(panel.left, panel.bottom, panel.groups, series),))

    def _grouped(self) -> tuple[list[tuple[str, Group]], str]:
        runs, by = self._comparison.runs, GROUPS[self.groups.currentIndex()][1]
        if isinstance(by, str):
            fitted = [e.model for e in self._comparison.entries if e.origin == IDENTIFIED]
            return split_groups([run.id for run in runs], fitted), "Use of the runs by the identification"
        conditions = {run.id: conditions_of(run) for run in runs}
        return condition_groups(conditions, by), heading(by[0]) if by else "Runs"
