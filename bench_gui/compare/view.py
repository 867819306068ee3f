"""Compare page: runs against models, as motion, over frequency, as errors and as drive/backdrive diagrams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QFileDialog, QPushButton, QStackedWidget, QWidget

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
from bench_gui.theme import Theme
from bench_gui.widgets.fields import EmptyState, button, hbox
from bench_gui.widgets.page import LazyPage, SideBySide, TaskPage, draw_in_turn
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

    def __init__(
        self,
        controller: Controller,
        make_arm: Callable[[Controller], ArmTab],
        record_four: QPushButton,
        example: QPushButton,
    ) -> None:
        """Create the page; make_arm: makes the last tab; record_four, example: buttons of the empty state."""
        super().__init__()
        self._controller, self._make_arm = controller, cache(lambda: make_arm(controller))
        self._unasked = set(range(len(_TABS)))
        self._undrawn = set(range(len(_TABS)))
        self._wanted_run = ""
        self._theme: Theme | None = None
        self._soon = QTimer(self)
        """Lets all else take changed runs, or another theme, before they are drawn."""
        self._soon.setSingleShot(True)
        self._soon.timeout.connect(self.entered)
        self._parts: list[Any] = []
        """Everything that has theme colours."""
        self._settings_of: dict[int, QWidget] = {}
        self._tools: dict[int, PlotTools] = {}
        self.exports: dict[int, PlotExport] = {}
        comparison = controller.comparison
        self.overlay = OverlayTab(controller)
        self.plots, self.overlay_tools = self.overlay.plots, self.overlay.tools
        self._choice = ModelChoice(controller.model_list, comparison)
        self.boxes = self._choice.boxes
        self._build()
        self._place(OVERLAY, self.plots, self.overlay.settings, self.overlay_tools, self.overlay)
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
        controller.model_list.current_changed.connect(lambda: self._arrived(MODELS))
        comparison.choice_changed.connect(self._invalidate)
        comparison.changed.connect(lambda: self._arrived(OVERLAY))
        comparison.errors_changed.connect(self._errors_arrived)
        controller.placing.points_changed.connect(lambda *_: self._arrived(DIAGRAM))
        controller.library.runs_changed.connect(self._runs_changed)
        controller.library.selection_changed.connect(self._runs_changed)
        self._runs_changed()

    # Building.

    def _build(self) -> None:
        self.tabs = Segments(_TABS, self._show_tab)
        self.head = Head(self._controller)
        self._pages, self._bars = QStackedWidget(), QStackedWidget()
        for stack in (self._pages, self._bars):
            for _ in _TABS:
                stack.addWidget(LazyPage())
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
        self.actions_column.addWidget(self.file_button)
        self._parts.append(self._choice)

    @cached_property
    def errors(self) -> ErrorsTab:
        """Tab with errors as numbers."""
        errors = ErrorsTab(self._controller.comparison)
        errors.run_wanted.connect(self.show_run)
        export = PlotExport(errors, errors.heat_contents, self._controller.save_plot)
        export.export_action.setText("Export heat map…")
        export.menu.addAction("Export table…", self._export_table)
        self._place(ERRORS, errors, errors.settings, export, errors)
        return errors

    @cached_property
    def models(self) -> ModelsTab:
        """Tab with errors as bars."""
        models = ModelsTab(self._controller.comparison, self._controller.model_list)
        export = PlotExport(models, models.contents, self._controller.save_plot)
        self._place(MODELS, models, models.settings, export, models)
        return models

    @cached_property
    def response(self) -> ResponseTab:
        """Tab with motion over frequency."""
        response = ResponseTab(self._controller)
        self._place(RESPONSE, response, response.settings, response.tools, response)
        return response

    @cached_property
    def diagram(self) -> DiagramTab:
        """Tab with the drive/backdrive diagram."""
        diagram = DiagramTab(self._controller)
        diagram.changed.connect(lambda: self._arrived(DIAGRAM))
        self._place(DIAGRAM, diagram.plot, diagram.settings, diagram.tools, diagram)
        return diagram

    @cached_property
    def arm(self) -> ArmTab:
        """Tab with an arm of two servos."""
        arm = self._make_arm()
        arm.started.connect(lambda: self.tabs.choose(ARM))
        self.actions_column.insertWidget(0, arm.buttons)
        arm.buttons.setVisible(self.tabs.current == ARM)
        self._place(ARM, arm, arm.settings, arm.tools, arm)
        self.offered.emit(arm.actions_offered())
        return arm

    def _place(self, tab: int, page: QWidget, settings: QWidget, tools: PlotTools | PlotExport, part: Any) -> None:
        """Place a tab's page, settings and tools; part: receives the theme for all of them."""
        cast(LazyPage, self._pages.widget(tab)).put(page)
        bar = tools.bar if isinstance(tools, PlotTools) else tools.button
        self.exports[tab] = tools.export if isinstance(tools, PlotTools) else tools
        if isinstance(tools, PlotTools):
            self._tools[tab] = tools
        cast(LazyPage, self._bars.widget(tab)).put(bar, Qt.AlignmentFlag.AlignRight)
        self._settings_of[tab] = settings
        settings.setVisible(tab == self.tabs.current)
        self.settings.insertWidget(0, settings)
        fresh = [part] if isinstance(tools, PlotTools) else [part, tools]
        self._parts += fresh
        for each in fresh if self._theme is not None else ():
            each.set_theme(self._theme)

    def more(self) -> Iterator[None]:
        """Create the other tabs, one per step; the arm's, which takes longest, in two."""
        for tab in range(1, len(_TABS)):
            if tab == ARM:
                self._make_arm()
                yield
            getattr(self, _attribute(tab))
            yield

    # User actions.

    def set_theme(self, theme: Theme) -> None:
        """Apply a theme's colours."""
        self._theme = theme
        for part in self._parts:
            part.set_theme(theme)
        self._undrawn = set(range(len(_TABS)))
        self._soon.start()

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
        """Actions of this page; those of the arm are `offered` when its tab is made."""
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
        ]

    def ask_model(self) -> None:
        """Ask for a model file and compare it."""
        file, _ = QFileDialog.getOpenFileName(self, "Open a model file", "", "Models (*.json);;All files (*)")
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

    def _export_table(self) -> None:
        contents = self.errors.table_contents()
        path = ask_plot_file(self, f"{file_name(contents.title)}_errors.csv", TABLE_FILTERS)
        if path is not None:
            self._controller.save_plot(contents, path)

    # Requests and drawing, both only for the visible tab.

    def _show_tab(self, tab: int) -> None:
        getattr(self, _attribute(tab))
        self._pages.setCurrentIndex(tab)
        self._bars.setCurrentIndex(tab)
        for other, section in self._settings_of.items():
            section.setVisible(other == tab)
        if "arm" in self.__dict__:
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
        self._unasked, self._undrawn = set(range(len(_TABS))), set(range(len(_TABS)))
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
            draw_in_turn(self)
            (
                self.overlay.draw,
                lambda: self.response.draw(),
                lambda: self.errors.show_runs(),
                lambda: self.models.show_errors(),
                lambda: self.diagram.draw(),
                lambda: self.arm.refresh(),
            )[tab]()
            if tab == OVERLAY and self._wanted_run in self.plots.offsets:
                self.plots.show_run(self._wanted_run)
                self._wanted_run = ""
        self._say()

    def _say(self) -> None:
        tab = self.tabs.current
        self.head.say(drawing=tab == OVERLAY, judging=tab in JUDGING, recordings=tab != ARM)


def _attribute(tab: int) -> str:
    """Name of the attribute that makes a tab on first access."""
    return _TABS[tab][0].lower()
