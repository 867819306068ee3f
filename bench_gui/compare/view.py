"""Comparing: any runs against any models, as motion, as errors and as drive/backdrive diagrams."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, QSize
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QStackedWidget,
    QToolButton,
    QWidget,
)

from bench_gui.actions import ActionSpec
from bench_gui.compare.comparison import MOST_DRAWN
from bench_gui.compare.diagram import DiagramPlot
from bench_gui.compare.errors_tab import ErrorsTab
from bench_gui.compare.models_tab import ModelsTab
from bench_gui.compare.plots import ComparePlots
from bench_gui.controller import Controller
from bench_gui.icons import line_icon
from bench_gui.plots.export import TABLE_FILTERS, PlotExport, ask_plot_file, file_name
from bench_gui.plots.tools import PlotTools
from bench_gui.state.models import CATALOGUE, FILE, IDENTIFIED, ModelEntry
from bench_gui.theme import Theme
from bench_gui.widgets.fields import ElidedLabel, EmptyState, Section, angle, button, describe, label, tool, whole
from bench_gui.widgets.page import TaskPage
from bench_gui.widgets.tabs import Segments
from core.terms import FRICTION_TITLES
from core.words import counted

if TYPE_CHECKING:
    from bench_gui.studies.arm.tab import ArmTab

_ORIGINS = ((IDENTIFIED, "Identified"), (FILE, "Opened files"), (CATALOGUE, "Catalogue"))
OVERLAY, ERRORS, MODELS, DIAGRAM, ARM = range(5)
_TABS = (
    ("Overlay", "Measured and simulated motion, and what is left between them"),
    ("Errors", "Errors run by run and by condition, and a heat map"),
    ("Models", "Mean errors of the models as bars"),
    ("Diagram", "Drive and backdrive torques at several speeds"),
    ("Arm", "Friction models on an arm of two servos, simulated or measured"),
)
MOST_FASTER = 5
FASTEST_STEP = 20.0
"""[rad/s]"""


class CompareView(TaskPage):
    """Four views of the same runs and models, of which only the one in sight asks for anything, and an arm."""

    help_page = "compare"

    def __init__(self, controller: Controller, arm: ArmTab, record_four: QPushButton, example: QPushButton) -> None:
        """arm: its last tab; record_four, example: what the empty state offers."""
        super().__init__()
        self._controller = controller
        self._theme: Theme | None = None
        self._unasked = set(range(len(_TABS)))
        self._undrawn = set(range(len(_TABS)))
        self._wanted_run = ""
        comparison = controller.comparison
        self.plots = ComparePlots()
        self.plots.set_unit(controller.angle_unit)
        self.errors_tab = ErrorsTab(comparison)
        self.errors = self.errors_tab.table
        self.models_tab = ModelsTab(comparison, controller.model_list)
        self.diagram = DiagramPlot()
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
        controller.model_list.changed.connect(self._offer)
        controller.model_list.current_changed.connect(lambda: self._arrived(MODELS))
        comparison.choice_changed.connect(self._mark)
        comparison.changed.connect(lambda: self._arrived(OVERLAY))
        comparison.errors_changed.connect(self._errors_arrived)
        controller.placing.points_changed.connect(lambda *_: self._arrived(DIAGRAM))
        controller.library.runs_changed.connect(self._runs_changed)
        controller.library.selection_changed.connect(self._runs_changed)
        controller.angle_unit_changed.connect(self._unit_changed)
        self._offer()
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
        chart = self.diagram.chart
        self.diagram_tools = PlotTools((chart,), self.diagram, self._diagram_title, save, symbol="τₘ")
        self.diagram.body.addWidget(self.diagram_tools.readout)
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
        self._hint: QLabel = label("Identify models to compare them here.", "muted")
        self._hint.setWordWrap(True)
        self.settings.addWidget(self._hint)
        self.faster = whole("Faster curves", "How many speeds above standstill are drawn", 2, 0, MOST_FASTER)
        self.speed_step = angle(
            "Speed step", "From one speed to the next", self._controller.angle_unit, 1.0, 0.01, FASTEST_STEP, per="/s"
        )
        diagram = Section("Diagram")
        diagram.row("Faster curves", self.faster)
        diagram.row("Speed step", self.speed_step)
        self.faster.valueChanged.connect(lambda: self._arrived(DIAGRAM))
        self.speed_step.radians_changed.connect(lambda: self._arrived(DIAGRAM))
        self._tab_settings = {
            ERRORS: self.errors_tab.settings,
            MODELS: self.models_tab.settings,
            DIAGRAM: diagram,
            ARM: self.arm.settings,
        }
        for tab, section in self._tab_settings.items():
            section.setVisible(tab == OVERLAY)
            self.settings.addWidget(section)
        self._sections: dict[str, Section] = {}
        self.boxes: dict[str, QCheckBox] = {}
        for origin, heading in _ORIGINS:
            section = Section(heading)
            self._sections[origin] = section
            self.settings.addWidget(section)
        self.settings.addStretch(1)
        self.actions_column.addWidget(self.arm.buttons)
        self.arm.buttons.hide()
        self.file_button: QPushButton = button("Open model file…", "Compare a model from a file too", self.ask_model)
        self.actions_column.addWidget(self.file_button)

    # What a person asks for.

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self._theme = theme
        for part in (
            self.plots,
            self.errors_tab,
            self.models_tab,
            self.diagram,
            self.arm,
            self.tabs,
            self.overlay_tools,
            self.diagram_tools,
            self.heat_export,
            self.bars_export,
        ):
            part.set_theme(theme)
        self._colour_boxes()
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
        self._show_models()
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
                self._draw_diagram,
                self.arm.refresh,
            )[tab]()
        self._say()

    def _draw_overlay(self) -> None:
        self.plots.show_picture(self._controller.comparison.picture)
        if self._wanted_run in self.plots.offsets:
            self.plots.show_run(self._wanted_run)
            self._wanted_run = ""

    @property
    def _speeds(self) -> list[float]:
        return [self.speed_step.radians * i for i in range(self.faster.value() + 1)]

    def _diagram_title(self) -> str:
        unit = self._controller.angle_unit
        speeds = ", ".join(f"{speed * unit.per_radian:g}" for speed in self._speeds)
        paler = ", faster ones paler" if len(self._speeds) > 1 else ""
        return f"{self._controller.comparison.title(())}: at {speeds} {unit.symbol}/s{paler}"

    def _draw_diagram(self) -> None:
        entries, speeds = self._controller.comparison.entries, self._speeds
        servos = {entry.model.servo for entry in entries}
        points = [point for point in self._controller.placing.points if point.servo in servos]
        self.diagram.show_models(entries, speeds, points, self._controller.angle_unit)

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

    # Models.

    def _offer(self) -> None:
        for section in self._sections.values():
            section.clear()
        self.boxes = {}
        entries = self._controller.model_list.entries
        for entry in entries:
            box = QCheckBox(self._title(entry))
            box.setChecked(entry.key in self._controller.comparison.chosen)
            box.setIconSize(QSize(22, 10))
            describe(box, f"Compare {entry.title}", f"Simulate the chosen runs by {entry.model.title}")
            box.toggled.connect(lambda _: self._choose())
            self._sections[entry.origin].wide(box)
            self.boxes[entry.key] = box
        self._show_models()
        self._colour_boxes()
        self._invalidate()

    def _show_models(self) -> None:
        """The models to choose from; the arm has its own."""
        origins = {entry.origin for entry in self._controller.model_list.entries if self.tabs.current != ARM}
        for origin, section in self._sections.items():
            section.setVisible(origin in origins)
        self._hint.setVisible(self.tabs.current != ARM and IDENTIFIED not in origins)

    def _title(self, entry: ModelEntry) -> str:
        name = f"{entry.model.friction.upper()}  {FRICTION_TITLES[entry.model.friction]}"
        if entry.origin == FILE:
            return f"{entry.model.friction.upper()}  {Path(entry.key).name}"
        best = entry.origin == IDENTIFIED and entry.key == self._controller.model_list.recommended
        return f"{name}  ★" if best else name

    def _colour_boxes(self) -> None:
        if self._theme is None:
            return
        for key, box in self.boxes.items():
            entry = self._controller.model_list.entry(key)
            if entry is not None:
                box.setIcon(line_icon(self._theme.model(entry.model.friction), entry.dash))

    def _choose(self) -> None:
        self._controller.comparison.choose(tuple(key for key, box in self.boxes.items() if box.isChecked()))

    def _mark(self) -> None:
        for key, box in self.boxes.items():
            with QSignalBlocker(box):
                box.setChecked(key in self._controller.comparison.chosen)
        self._invalidate()

    def _unit_changed(self) -> None:
        unit = self._controller.angle_unit
        self.plots.set_unit(unit)
        self.speed_step.show_in(unit)
        self._arrived(DIAGRAM)


def _nothing() -> None:
    """These ask for nothing."""


def _to_the_right(part: QWidget) -> QWidget:
    holder = QWidget()
    row = QHBoxLayout(holder)
    row.setContentsMargins(0, 0, 0, 0)
    row.addStretch(1)
    row.addWidget(part)
    return holder
