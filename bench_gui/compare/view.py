"""Comparing: any runs against any models, as motion, as errors and as drive/backdrive diagrams."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import (
    QFileDialog,
    QHBoxLayout,
    QProgressBar,
    QPushButton,
    QStackedWidget,
    QToolButton,
    QWidget,
)

from bench_gui.actions import ActionSpec
from bench_gui.compare.comparison import MOST_DRAWN
from bench_gui.compare.diagram_tab import DiagramTab
from bench_gui.compare.errors_tab import ErrorsTab
from bench_gui.compare.model_choice import ModelChoice
from bench_gui.compare.models_tab import ModelsTab
from bench_gui.compare.plots import ComparePlots
from bench_gui.controller import Controller
from bench_gui.plots.export import TABLE_FILTERS, PlotExport, ask_plot_file, file_name
from bench_gui.plots.tools import PlotTools
from bench_gui.theme import Theme
from bench_gui.widgets.fields import ElidedLabel, EmptyState, button, describe, tool
from bench_gui.widgets.page import TaskPage
from bench_gui.widgets.tabs import Segments
from core.words import counted

if TYPE_CHECKING:
    from bench_gui.studies.arm.tab import ArmTab

OVERLAY, ERRORS, MODELS, DIAGRAM, ARM = range(5)
_TABS = (
    ("Overlay", "Measured and simulated motion, and what is left between them"),
    ("Errors", "Errors run by run and by condition, and a heat map"),
    ("Models", "Mean errors of the models as bars"),
    ("Diagram", "Drive and backdrive torques at several speeds"),
    ("Arm", "Friction models on an arm of two servos, simulated or measured"),
)


class CompareView(TaskPage):
    """Four views of the same runs and models, of which only the one in sight asks for anything, and an arm."""

    help_page = "compare"

    def __init__(self, controller: Controller, arm: ArmTab, record_four: QPushButton, example: QPushButton) -> None:
        """arm: its last tab; record_four, example: what the empty state offers."""
        super().__init__()
        self._controller = controller
        self._unasked = set(range(len(_TABS)))
        self._undrawn = set(range(len(_TABS)))
        self._wanted_run = ""
        comparison = controller.comparison
        self.plots = ComparePlots()
        self.plots.set_unit(controller.angle_unit)
        self.errors_tab = ErrorsTab(comparison)
        self.errors = self.errors_tab.table
        self.models_tab = ModelsTab(comparison, controller.model_list)
        self._diagram = DiagramTab(controller)
        self.diagram, self.diagram_tools = self._diagram.plot, self._diagram.tools
        self._models = ModelChoice(controller.model_list, comparison)
        self.boxes = self._models.boxes
        self.arm = arm
        self._build_tools()
        self._build_picture()
        self._build_settings()
        self.arm_button: QPushButton = button(
            "Compare on an arm", f"{_TABS[ARM][1]}; needs no recordings", lambda: self.tabs.choose(ARM)
        )
        self.set_empty_state(
            EmptyState(
                "No recordings to compare",
                "Record the four trajectories (24 s), look at the example recorded with a real XL330, or see what "
                "friction models are worth on a simulated arm.",
                record_four,
                example,
                self.arm_button,
            )
        )
        self.errors_tab.run_wanted.connect(self.show_run)
        self.arm.started.connect(lambda: self.tabs.choose(ARM))
        controller.model_list.changed.connect(self._invalidate)
        controller.model_list.current_changed.connect(lambda: self._arrived(MODELS))
        comparison.choice_changed.connect(self._invalidate)
        comparison.changed.connect(lambda: self._arrived(OVERLAY))
        comparison.errors_changed.connect(self._errors_arrived)
        controller.placing.points_changed.connect(lambda *_: self._arrived(DIAGRAM))
        controller.library.runs_changed.connect(self._runs_changed)
        controller.library.selection_changed.connect(self._runs_changed)
        self._diagram.changed.connect(lambda: self._arrived(DIAGRAM))
        controller.angle_unit_changed.connect(lambda: self.plots.set_unit(controller.angle_unit))
        self._runs_changed()

    # Building.

    def _build_tools(self) -> None:
        controller = self._controller
        comparison, save = controller.comparison, controller.save_plot
        plots = self.plots
        self.overlay_tools = PlotTools(
            (plots.overlay, plots.residual),
            plots,
            lambda: comparison.title(plots.runs_in_sight),
            save,
            fit=plots.fit,
        )
        self.plots.body.addWidget(self.overlay_tools.readout)
        self.heat_export = PlotExport(self.errors_tab, self.errors_tab.heat_contents, save)
        self.heat_export.export_action.setText("Export heat map…")
        self.table_action = self.heat_export.menu.addAction("Export table…", self._export_table)
        self.bars_export = PlotExport(self.models_tab, self.models_tab.contents, save)
        self.earlier: QToolButton = tool("Earlier runs", f"Show the {MOST_DRAWN} runs before these")
        self.later: QToolButton = tool("Later runs", f"Show the {MOST_DRAWN} runs after these")
        for turn, text, pages in ((self.earlier, "‹", -1), (self.later, "›", 1)):
            turn.setText(text)
            turn.clicked.connect(lambda _=False, pages=pages: self._controller.comparison.turn(pages))

    def _build_picture(self) -> None:
        self.tabs = Segments(_TABS, self._show_tab)
        self.note = ElidedLabel()
        self.note.setProperty("role", "muted")
        self.progress = describe(QProgressBar(), "Errors found", "How many errors of the chosen runs are known")
        self.progress.setTextVisible(False)
        self.progress.setFixedWidth(90)
        self._bars = QStackedWidget()
        bars = (
            self.overlay_tools.bar,
            self.heat_export.button,
            self.bars_export.button,
            self.diagram_tools.bar,
            self.arm.tools.bar,
        )
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.tabs)
        row.addWidget(self.note, 1)
        for part in (self.progress, self.earlier, self.later):
            row.addWidget(part)
            part.hide()
        for bar in bars:
            self._bars.addWidget(_to_the_right(bar))
        row.addWidget(self._bars)
        self.centre.addLayout(row)
        self._pages = QStackedWidget()
        for page in (
            self.plots,
            self.errors_tab,
            self.models_tab,
            self.diagram,
            self.arm,
        ):
            self._pages.addWidget(page)
        self.centre.addWidget(self._pages, 1)

    def _build_settings(self) -> None:
        self._tab_settings = {
            ERRORS: self.errors_tab.settings,
            MODELS: self.models_tab.settings,
            DIAGRAM: self._diagram.settings,
            ARM: self.arm.settings,
        }
        for tab, section in self._tab_settings.items():
            section.setVisible(tab == OVERLAY)
            self.settings.addWidget(section)
        self.settings.addWidget(self._models)
        self.settings.addStretch(1)
        self.actions_column.addWidget(self.arm.buttons)
        self.arm.buttons.hide()
        self.file_button: QPushButton = button("Open model file…", "Compare a model from a file too", self.ask_model)
        self.actions_column.addWidget(self.file_button)

    # What a person asks for.

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        for part in (
            self.plots,
            self.errors_tab,
            self.models_tab,
            self._diagram,
            self._models,
            self.arm,
            self.tabs,
            self.overlay_tools,
            self.heat_export,
            self.bars_export,
        ):
            part.set_theme(theme)
        self._arrived(*range(len(_TABS)))

    def entered(self) -> None:
        """Ask for what changed while the page was out of sight."""
        if self.isVisible():
            self._controller.comparison.enter()
            self._look()

    def showEvent(self, event: QShowEvent) -> None:
        """Ask for what changed while the page was out of sight."""
        super().showEvent(event)
        self.entered()

    def hideEvent(self, event: QHideEvent) -> None:
        """Nobody looks: judge no further runs."""
        super().hideEvent(event)
        self._stop_judging()

    def actions_offered(self) -> list[ActionSpec]:
        """What a person can ask of this page."""
        shown = [
            ActionSpec(f"Show the {text.lower()}", lambda place=place: self.tabs.choose(place), tip=tip)
            for place, (text, tip) in enumerate(_TABS)
        ]
        return [
            *shown,
            ActionSpec("Δ &cursors", self._toggle_cursors, "Ctrl+D", "Read values and differences off the curves"),
            ActionSpec("&Fit the plots", self._fit, "Ctrl+0", "Show everything"),
            ActionSpec("E&xport plot…", lambda: self._export.ask(), "Ctrl+E", "Write what is visible to a file"),
            ActionSpec("Copy plot as &image", lambda: self._export.copy_image(), "Ctrl+Shift+C"),
            ActionSpec("Export the &error table…", self._export_table),
            *self.arm.actions_offered(),
        ]

    def ask_model(self) -> None:
        """Ask for a model file and compare it."""
        file, _ = QFileDialog.getOpenFileName(self.window(), "Open a model file", "", "Models (*.json);;All files (*)")
        if file:
            self._controller.open_model(Path(file))

    def show_run(self, run: str) -> None:
        """Show one run's motion."""
        self._wanted_run = run
        if run not in self.plots.offsets:
            self._controller.comparison.turn_to(run)
            self._unasked.add(OVERLAY)
        self._undrawn.add(OVERLAY)
        self.tabs.choose(OVERLAY)

    @property
    def _export(self) -> PlotExport:
        exports = (self.overlay_tools.export, self.heat_export, self.bars_export, self.diagram_tools.export)
        return (*exports, self.arm.tools.export)[self.tabs.current]

    def _toggle_cursors(self) -> None:
        with_cursors = {OVERLAY: self.overlay_tools, DIAGRAM: self.diagram_tools, ARM: self.arm.tools}
        tools = with_cursors.get(self.tabs.current)
        if tools is not None:
            tools.cursor_button.toggle()

    def _fit(self) -> None:
        shown = {DIAGRAM: self.diagram.chart, ARM: self.arm.plots}
        shown.get(self.tabs.current, self.plots).fit()

    def _export_table(self) -> None:
        contents = self.errors_tab.table_contents()
        path = ask_plot_file(self.window(), f"{file_name(contents.title)}_errors.csv", TABLE_FILTERS)
        if path is not None:
            self._controller.save_plot(contents, path)

    # Asking and drawing, both only for the tab in sight.

    def _show_tab(self, tab: int) -> None:
        self._pages.setCurrentIndex(tab)
        self._bars.setCurrentIndex(tab)
        for other, section in self._tab_settings.items():
            section.setVisible(other == tab)
        self.arm.buttons.setVisible(tab == ARM)
        self.help_page = "arm" if tab == ARM else "compare"
        self._models.setVisible(tab != ARM)
        self._show_what_there_is()
        if tab not in (ERRORS, MODELS):
            self._stop_judging()
        self._look()

    def _stop_judging(self) -> None:
        self._controller.comparison.stop_judging()
        self._unasked |= {ERRORS, MODELS}

    def _runs_changed(self) -> None:
        self._show_what_there_is()
        self._invalidate()
        if self.isVisible():
            self.entered()

    def _show_what_there_is(self) -> None:
        self.show_empty(not self._controller.library.runs and self.tabs.current != ARM)

    def _invalidate(self) -> None:
        """Other runs or models: everything there is to see is old."""
        self._unasked = set(range(len(_TABS)))
        self._arrived(*range(len(_TABS)))

    def _arrived(self, *tabs: int) -> None:
        self._undrawn |= set(tabs)
        self._look()

    def _errors_arrived(self) -> None:
        if self.isVisible() and self.tabs.current == ERRORS and ERRORS not in self._undrawn:
            self.errors_tab.show_errors()
            self._say()
        else:
            self._arrived(ERRORS, MODELS)

    def _look(self) -> None:
        tab = self.tabs.current
        if not self.isVisible() or self.is_empty:
            return
        if tab in self._unasked:
            self._unasked.discard(tab)
            self._undrawn.add(tab)
            comparison = self._controller.comparison
            (comparison.draw, comparison.judge, comparison.judge, _nothing, _nothing)[tab]()
        if tab in self._undrawn:
            self._undrawn.discard(tab)
            (
                self._draw_overlay,
                self.errors_tab.show_runs,
                self.models_tab.show_errors,
                self._diagram.draw,
                self.arm.refresh,
            )[tab]()
        self._say()

    def _draw_overlay(self) -> None:
        self.plots.show_picture(self._controller.comparison.picture)
        if self._wanted_run in self.plots.offsets:
            self.plots.show_run(self._wanted_run)
            self._wanted_run = ""

    def _say(self) -> None:
        """What is not to be seen in the picture itself."""
        comparison, tab = self._controller.comparison, self.tabs.current
        picture = comparison.picture
        cut = tab == OVERLAY and picture.total > len(picture.recordings) > 0
        self.earlier.setVisible(cut)
        self.later.setVisible(cut)
        self.earlier.setEnabled(picture.first > 0)
        self.later.setEnabled(picture.first + len(picture.recordings) < picture.total)
        known, all_of_them = comparison.judged
        judging = tab in (ERRORS, MODELS) and known < all_of_them
        self.progress.setVisible(judging)
        self.progress.setRange(0, max(1, all_of_them))
        self.progress.setValue(known)
        text = ""
        if tab == ARM:
            text = ""
        elif not comparison.chosen:
            text = "Choose models at the right"
        elif cut:
            last = picture.first + len(picture.recordings)
            text = f"Runs {picture.first + 1} to {last} of {picture.total}; errors are of all"
        elif tab == OVERLAY and comparison.waiting:
            text = "Simulating…"
        elif judging:
            text = f"{known} of {counted(all_of_them, 'error')} known"
        left_out = "" if tab == ARM else self._controller.library.left_out(comparison.runs)
        used = self._controller.library.selection(comparison.runs).brief if left_out else ""
        self.note.setText(" · ".join(filter(None, (text, used))))
        self.note.setToolTip(left_out)


def _nothing() -> None:
    """These ask for nothing."""


def _to_the_right(part: QWidget) -> QWidget:
    holder = QWidget()
    row = QHBoxLayout(holder)
    row.setContentsMargins(0, 0, 0, 0)
    row.addStretch(1)
    row.addWidget(part)
    return holder
