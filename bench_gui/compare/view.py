"""Compare page: runs against models, as motion, over frequency, as errors and as drive/backdrive diagrams."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QPushButton, QStackedWidget, QWidget

from bench_gui import file_dialogs
from bench_gui.actions import ActionSpec
from bench_gui.compare.diagram_tab import DiagramTab
from bench_gui.compare.errors_tab import ErrorsTab
from bench_gui.compare.head import Head
from bench_gui.compare.model_choice import ModelChoice
from bench_gui.compare.models_tab import ModelsTab
from bench_gui.compare.overlay_tab import OverlayTab
from bench_gui.compare.response_tab import ResponseTab
from bench_gui.controller import Controller
from bench_gui.plots.export import TABLE_FILTERS, PlotExport, ask_plot_file, file_name
from bench_gui.plots.tools import PlotTools
from bench_gui.theme import themes
from bench_gui.widgets.fields import EmptyState, button, describe, hbox
from bench_gui.widgets.page import Placeholder, SideBySide, TaskPage
from bench_gui.widgets.tabs import Segments

if TYPE_CHECKING:
    from bench_gui.studies.arm.tab import ArmTab

OVERLAY, RESPONSE, ERRORS, MODELS, DIAGRAM, ARM = range(6)
_TABS = (
    ("Overlay", "Measured and simulated motion, and their difference"),
    ("Response", "Measured and simulated response from goal to position, over frequency (Bode)"),
    ("Errors", "Errors run by run and by condition, and a heat map"),
    ("Models", "Mean errors of the models as bars"),
    ("Diagram", "Drive and backdrive torques at several speeds"),
    ("Arm", "Friction models on an arm of two servos, simulated or measured"),
)
JUDGING = (ERRORS, MODELS)


class CompareView(TaskPage):
    """Views of the same runs and models; only the visible view requests work. The last tab is an arm."""

    help_page = "compare"

    def __init__(self, controller: Controller, arm: ArmTab, record_four: QPushButton, example: QPushButton) -> None:
        """Create the page; arm: the last tab; record_four, example: buttons of the empty state."""
        super().__init__()
        self._controller = controller
        self._unasked = set(range(len(_TABS)))
        self._undrawn = set(range(len(_TABS)))
        self._wanted_run = ""
        self._soon = QTimer(self)
        """Lets all else take changed runs, or another theme, before they are drawn."""
        self._soon.setSingleShot(True)
        self._soon.timeout.connect(self.entered)
        comparison = controller.comparison
        self._choice = ModelChoice(controller.model_list, comparison)
        self.boxes = self._choice.boxes
        self.overlay = OverlayTab(controller)
        self.plots, self.overlay_tools = self.overlay.plots, self.overlay.tools
        self.response = ResponseTab(controller)
        self.errors = ErrorsTab(comparison)
        self.models = ModelsTab(comparison)
        self.diagram = DiagramTab(controller)
        self.arm = arm
        self._settings_of: list[QWidget] = []
        self._tools: dict[int, PlotTools] = {}
        self.exports: list[PlotExport] = []
        self._build()
        self.arm_button: QPushButton = button(
            "Compare on an arm", f"{_TABS[ARM][1]}; needs no recordings", lambda: self.tabs.choose(ARM)
        )
        self.set_empty_state(
            EmptyState(
                "No recordings to compare",
                "Record the four trajectories (24 s), open the example recorded with a real XL330, or compare "
                "friction models on a simulated arm.",
                record_four,
                example,
                self.arm_button,
            )
        )
        controller.model_list.changed.connect(self._invalidate)
        controller.model_list.changed.connect(self._soon.start)
        controller.model_list.current_changed.connect(lambda: self._arrived(MODELS))
        comparison.choice_changed.connect(self._invalidate)
        controller.computing.connect(self._say)
        comparison.changed.connect(lambda: self._arrived(OVERLAY))
        comparison.errors_changed.connect(self._errors_arrived)
        self.errors.run_wanted.connect(self.show_run)
        self.diagram.changed.connect(lambda: self._arrived(DIAGRAM))
        self.arm.started.connect(lambda: self.tabs.choose(ARM))
        controller.placing.points_changed.connect(lambda *_: self._arrived(DIAGRAM))
        controller.library.runs_changed.connect(self._runs_changed)
        controller.library.selection_changed.connect(self._runs_changed)
        themes.changed.connect(self._draw_again)
        self._runs_changed()

    # Building.

    def _build(self) -> None:
        self.tabs = Segments(_TABS, self._show_tab)
        self.head = Head(self._controller)
        self._pages, self._bars = QStackedWidget(), QStackedWidget()
        save = self._controller.save_plot
        errors_export = PlotExport(self.errors, self.errors.heat_contents, save)
        errors_export.export_action.setText("Export heat map…")
        errors_export.menu.addAction("Export table…", self._export_table)
        models_export = PlotExport(self.models, self.models.contents, save)
        self._add(self.plots, self.overlay.settings, self.overlay_tools)
        self._add(self.response, self.response.settings, self.response.tools)
        self._add(self.errors, self.errors.settings, errors_export)
        self._add(self.models, self.models.settings, models_export)
        self._add(self.diagram.plot, self.diagram.settings, self.diagram.tools)
        self._add(self.arm, self.arm.settings, self.arm.tools)
        left, right = hbox(), hbox(spacing=8)
        left.addWidget(self.tabs, 0, Qt.AlignmentFlag.AlignLeft)
        right.addWidget(self.head, 1)
        right.addWidget(self._bars)
        self.centre.addWidget(SideBySide(left, right))
        self.centre.addWidget(self._pages, 1)
        self.settings.addWidget(self._choice)
        self.settings.addStretch(1)
        self.file_button: QPushButton = button(
            "Open model file…", "Add a model from a file to the comparison", self.ask_model
        )
        self.next_button: QPushButton = button("", "", lambda: self.task_wanted.emit(self._next), "primary")
        self.actions_column.addWidget(self.next_button)
        self.arm.buttons.setVisible(False)
        self.actions_column.addWidget(self.arm.buttons)
        self.actions_column.addWidget(self.file_button)

    def _add(self, page: QWidget, settings: QWidget, tools: PlotTools | PlotExport) -> None:
        """Add the page of the next tab, its settings and its tools."""
        tab = self._pages.addWidget(page)
        if isinstance(tools, PlotTools):
            self._tools[tab] = tools
        self.exports.append(tools.export if isinstance(tools, PlotTools) else tools)
        bar = Placeholder()
        bar.put(tools.bar if isinstance(tools, PlotTools) else tools.button, Qt.AlignmentFlag.AlignRight)
        self._bars.addWidget(bar)
        self.settings.addWidget(settings)
        settings.setVisible(tab == OVERLAY)
        self._settings_of.append(settings)

    # User actions.

    def entered(self) -> None:
        """Request what changed while the page was hidden."""
        if self.isVisible():
            self._controller.comparison.enter()
        self._look()

    def showEvent(self, event: QShowEvent) -> None:
        """Request what changed while the page was hidden."""
        super().showEvent(event)
        self.entered()

    def hideEvent(self, event: QHideEvent) -> None:
        """Stop judging further runs."""
        super().hideEvent(event)
        self._stop_judging()

    def actions_offered(self) -> list[ActionSpec]:
        """Actions of this page and of its arm."""
        shown = [
            ActionSpec(f"Show the {text.lower()}", lambda place=place: self.tabs.choose(place), tip=tip)
            for place, (text, tip) in enumerate(_TABS)
        ]

        def toggle_cursors() -> None:
            if self.tabs.current in self._tools:
                self._tools[self.tabs.current].cursor_button.toggle()

        def fit() -> None:
            self._tools.get(self.tabs.current, self.overlay_tools).fit()

        return [
            *shown,
            ActionSpec("Δ &cursors", toggle_cursors, "Ctrl+D", "Read values and differences from the curves"),
            ActionSpec("&Fit the plots", fit, "Ctrl+0", "Show everything"),
            ActionSpec("Play the &pendulum", self.overlay.play, tip="Play the motion, measured and simulated"),
            ActionSpec(
                "E&xport plot…", lambda: self.exports[self.tabs.current].ask(), "Ctrl+E", "Write what is visible"
            ),
            ActionSpec("Copy plot as &image", lambda: self.exports[self.tabs.current].copy_image(), "Ctrl+Shift+C"),
            ActionSpec("Export the &error table…", self._export_table),
            *self.arm.actions_offered(),
        ]

    def ask_model(self) -> None:
        """Ask for a model file and compare it."""
        file = file_dialogs.ask_file(self, "Open a model file", "Models (*.json);;All files (*)")
        if file:
            self._controller.open_model(Path(file))

    def show_run(self, run: str) -> None:
        """Show one run's motion."""
        self._wanted_run = run
        if not any(cell.run == run for cell in self.plots.cells):
            self._controller.comparison.turn_to(run)
            self._unasked.add(OVERLAY)
        self._undrawn.add(OVERLAY)
        self.tabs.choose(OVERLAY)

    def _export_table(self) -> None:
        contents = self.errors.table_contents()
        path = ask_plot_file(self, f"{file_name(contents.title)}_errors.csv", TABLE_FILTERS)
        if path is not None:
            self._controller.save_plot(contents, path)

    # Requests and drawing, both only for the visible tab.

    def _show_tab(self, tab: int) -> None:
        self._pages.setCurrentIndex(tab)
        self._bars.setCurrentIndex(tab)
        for other, section in enumerate(self._settings_of):
            section.setVisible(other == tab)
        self.arm.buttons.setVisible(tab == ARM)
        self.help_page = "arm" if tab == ARM else "compare"
        self._choice.setVisible(tab != ARM)
        if tab not in JUDGING:
            self._stop_judging()
        self._look()

    def _stop_judging(self) -> None:
        self._controller.comparison.stop_judging()
        self._unasked |= set(JUDGING)

    def _runs_changed(self) -> None:
        self._unasked = set(range(len(_TABS)))
        self._draw_again()

    def _draw_again(self) -> None:
        self._undrawn = set(range(len(_TABS)))
        self._soon.start()

    def _invalidate(self) -> None:
        """Mark all tabs as outdated: other models."""
        self._unasked = set(range(len(_TABS)))
        self._arrived(*self._unasked)

    def _arrived(self, *tabs: int) -> None:
        self._undrawn |= set(tabs)
        self._look()

    def _errors_arrived(self) -> None:
        if self.isVisible() and self.tabs.current == ERRORS and ERRORS not in self._undrawn:
            self.errors.show_errors()
            self._say()
        else:
            self._arrived(*JUDGING)

    def _look(self) -> None:
        tab, comparison, was_empty = self.tabs.current, self._controller.comparison, self.is_empty
        self.show_empty(not self._controller.library.runs and tab != ARM)
        describe(self.next_button, self._next, f"{self._next} a model of these runs").setText(self._next)
        self.next_button.setVisible(not self.is_empty and tab != ARM)
        if not self.isVisible() or self.is_empty:
            return
        if was_empty:
            self._soon.start()  # reading runs would hold up the page's first painting
        if self._soon.isActive():
            return
        if tab in self._unasked:
            self._unasked.discard(tab)
            self._undrawn.add(tab)
            if tab == OVERLAY:
                comparison.draw()
            elif tab in JUDGING:
                comparison.judge()
        if tab in self._undrawn:
            self._undrawn.discard(tab)
            (
                self.overlay.draw,
                self.response.draw,
                self.errors.show_runs,
                self.models.show_errors,
                self.diagram.draw,
                self.arm.refresh,
            )[tab]()
            if tab == OVERLAY and self._wanted_run in (cell.run or None for cell in self.plots.cells):
                self.plots.show_run(self._wanted_run)
                self._wanted_run = ""
        self._say()

    @property
    def _next(self) -> str:
        """Task that comes next."""
        identifying = self._controller.identifying
        return "Export" if identifying.fitting.result or identifying.robot.kept else "Identify"

    def _say(self) -> None:
        tab = self.tabs.current
        self.plots.tell(self._controller.comparison.doing)
        self.head.say(drawing=tab == OVERLAY, judging=tab in JUDGING, recordings=tab != ARM)
