"""Fleet page: many units of a servo identified together, and the spread between them."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QPushButton, QStackedWidget, QToolButton, QWidget

from bench_gui import file_dialogs
from bench_gui.actions import ActionSpec
from bench_gui.controller import Controller
from bench_gui.fleet.form import TRIED, FleetForm
from bench_gui.fleet.parameter_plots import ParameterPlots
from bench_gui.fleet.reading import unit_model
from bench_gui.fleet.running import FleetRunning
from bench_gui.fleet.spread_tab import SpreadTab
from bench_gui.fleet.summary import FleetSummary, ModelSummary
from bench_gui.fleet.transfer_map import ORDERS, TransferMap
from bench_gui.fleet.units_tab import UnitsTab
from bench_gui.plots.export import TABLE_FILTERS, PlotExport, ask_plot_file, file_name, gather
from bench_gui.theme import themes
from bench_gui.widgets.fields import (
    ElidedLabel,
    EmptyState,
    allow,
    button,
    caption_of,
    choice,
    hbox,
    label,
    restyle,
    tool,
    vbox,
)
from bench_gui.widgets.page import SideBySide, TaskPage
from bench_gui.widgets.start_button import StartButton, held_by
from bench_gui.widgets.tabs import Segments
from core.base.words import capitalised, counted
from core.document.plot import Plot
from core.document.table import Table
from sessions.folders import home

UNITS, PARAMETERS, TRANSFER, SPREAD = range(4)
_TABS = [
    ("Units", "Each unit with its best model, its errors and its outlier marks"),
    ("Parameters", "Each parameter over the units, with intervals and spread"),
    ("Transfer", "Error of each unit's model on every other unit"),
    ("Spread", "A single model for all units, its spread, and files for domain randomisation"),
]


class FleetView(TaskPage):
    """One fleet at a time, computed or read from its folder."""

    help_page = "fleet"

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self._controller = controller
        self.running = FleetRunning(controller.computations)
        self.form = FleetForm()
        self.settings.addWidget(self.form)
        self.settings.addStretch(1)
        self.units = UnitsTab()
        self.units.set_unit(controller.angle_unit)
        self.parameters = ParameterPlots()
        self.transfer = TransferMap()
        self.spread = SpreadTab(controller)
        self._stale: set[int] = set()
        """Tabs that do not show the latest summary."""
        self._opening: Path | None = None
        """Folder of the fleet that the user opened, until it is read."""
        self._picked = ""
        """Friction model chosen by the user; until then the recommended one is used."""
        self._build_picture()
        self._build_buttons()
        self.try_button: QPushButton = button(
            f"Try {TRIED} simulated servos",
            "Create simulated MX-106 servos that differ like real ones, and identify them",
            self.try_simulated,
        )
        self.set_empty_state(
            EmptyState(
                "No fleet yet",
                "Add the sessions of several units of one servo on the right and press Start, or open the folder of a "
                "fleet. To try it without hardware, use simulated servos.",
                self.try_button,
                button("Open fleet…", "Open the folder of a fleet", self.ask_fleet),
            )
        )
        self._connect()
        self.form.set_open_session(controller.library.path)
        self.refresh()
        themes.changed.connect(self._paint)

    # Building.

    def _build_picture(self) -> None:
        controller = self._controller
        self.tabs = Segments(_TABS, self._show_tab)
        self.model: QComboBox = choice(
            "Model", "Friction model whose errors and parameters are shown; ★ marks the recommended one"
        )
        self.model.activated.connect(self._pick)
        self.note = ElidedLabel()
        self.note.setProperty("role", "muted")
        self.note.setAccessibleName("State of the fleet")
        self.order: QComboBox = choice("Order of the units", "Order of rows and columns", [*ORDERS])
        self.order.setMinimumContentsLength(22)
        self.order.currentIndexChanged.connect(lambda _: self._show_transfer())
        self.table_button: QToolButton = tool("Export table", "Export the table as numbers", symbol="export")
        self.table_button.clicked.connect(self.export_table)
        self.plots_export = PlotExport(self.parameters.body, self._plot_contents, controller.save_plot)
        self.map_export = PlotExport(self.transfer, self._map_contents, controller.save_plot)
        self._tools = QStackedWidget()
        self._tools.addWidget(self.table_button)
        self._tools.addWidget(self.plots_export.button)
        self._tools.addWidget(self.map_export.button)
        self._pages = QStackedWidget()
        self._pages.currentChanged.connect(self.tabs.choose)
        self.map_page = QWidget()
        column = vbox(self.map_page, spacing=6)
        self.map_note = label("", "muted")
        self.map_note.setWordWrap(True)
        row = hbox(spacing=8)
        row.addWidget(caption_of(self.order, "Order by"))
        row.addWidget(self.order)
        row.addWidget(self.map_note, 1)
        column.addLayout(row)
        column.addWidget(self.transfer, 1)
        for page in (self.units, self.parameters, self.map_page, self.spread):
            self._pages.addWidget(page)
        left, right = hbox(), hbox(spacing=10)
        left.addWidget(self.tabs, 0, Qt.AlignmentFlag.AlignLeft)
        right.addWidget(caption_of(self.model, "Model"))
        right.addWidget(self.model)
        right.addWidget(self.note, 1)
        right.addWidget(self._tools, 0, Qt.AlignmentFlag.AlignRight)
        self.centre.addWidget(SideBySide(left, right, spacing=10))
        self.centre.addWidget(self._pages, 1)

    def _build_buttons(self) -> None:
        row = hbox(spacing=8)
        self.start_button = StartButton("Start", "", self.start, self.form)
        self.stop_button: QPushButton = button("Stop", "", self.running.stop)
        row.addWidget(self.start_button, 1)
        row.addWidget(self.stop_button, 1)
        self.open_button: QPushButton = button("Open fleet…", "Open the folder of a fleet", self.ask_fleet)
        self.actions_column.addLayout(row)
        self.actions_column.addWidget(self.open_button)

    def _connect(self) -> None:
        controller, running = self._controller, self.running
        self.form.changed.connect(self._enable)
        self.form.look_wanted.connect(running.look)
        running.looking.finished.connect(self.form.show_seen)
        running.activity.view = self
        running.changed.connect(self.refresh)
        running.progressed.connect(self._say_state)
        running.shown.connect(self._take_summary)
        running.finished.connect(lambda _: self.form.changed.emit())
        for level, said in (("error", running.failed), ("error", running.refused), ("warning", running.warned)):
            said.connect(lambda text, level=level: controller.journal.say(level, text, task="Fleet"))
        controller.library.opened.connect(lambda: self.form.set_open_session(controller.library.path))
        controller.angle_unit_changed.connect(self._change_unit)
        self.units.chosen.connect(self._select)
        self.units.opened.connect(self.use_model)
        self.parameters.chosen.connect(self.units.select)
        self.transfer.chosen.connect(self.units.select)

    # Requests.

    def start(self) -> None:
        """Compute the requested fits that are missing."""
        if not held_by(self.form) and not self.form.obstacle and not self.running.active:
            self.running.start(self.form.job())

    def try_simulated(self) -> None:
        """Start a fleet without hardware."""
        self.form.try_simulated()
        self.start()

    def ask_fleet(self) -> None:
        """Ask for a fleet's folder and show it."""
        folder = file_dialogs.ask_folder(self, "Open a fleet", home())
        if folder:
            self.open_fleet(Path(folder))

    def open_fleet(self, folder: Path) -> None:
        """Show a fleet; the form then shows its request."""
        self._opening = folder
        self.running.open(folder)

    def use_model(self, unit: str) -> None:
        """Open a unit's session, and its model in Compare and Export."""
        summary, friction, controller = self.running.summary, self.friction, self._controller
        if summary is None or unit not in summary.place or friction not in summary.models:
            return
        session = Path(summary.units[summary.place[unit]].session)

        def show(file: Path) -> None:
            if controller.library.path != session and session.exists():
                controller.library.opened.connect(
                    lambda: controller.open_model(file), Qt.ConnectionType.SingleShotConnection
                )
                controller.library.open(session)
            else:
                controller.open_model(file)
            controller.message.emit("info", f"{friction.upper()} of {unit} is now available in Compare and Export")
            self.task_wanted.emit("Compare")

        controller.background.submit("fleet", unit_model, summary.folder, unit, friction, done=show)

    def export_table(self) -> None:
        """Export the visible table as numbers."""
        panel: Table = self.spread.contents() if self.tabs.current == SPREAD else self.units.table.contents()
        path = ask_plot_file(self, f"{file_name(self._title())}.csv", TABLE_FILTERS)
        if path is not None:
            self._controller.save_plot(Plot(self._title(), (panel,)), path)

    def actions_offered(self) -> list[ActionSpec]:
        there = self.model.isEnabled
        return [
            ActionSpec(
                "&Start the fleet", self.start, tip="Compute the missing fits", enabled=self.start_button.isEnabled
            ),
            ActionSpec("S&top the fleet", self.running.stop, enabled=self.stop_button.isEnabled),
            ActionSpec("&Open fleet…", self.ask_fleet, enabled=self.open_button.isEnabled),
            ActionSpec(f"T&ry {TRIED} simulated servos", self.try_simulated, enabled=lambda: not self.running.active),
            ActionSpec("&Add sessions to the fleet…", self.form.ask_sessions),
            ActionSpec(
                "Open the chosen unit in &Compare",
                lambda: self.use_model(self.units.selected),
                enabled=self.units.open_button.isEnabled,
            ),
            ActionSpec("Export the fleet's ta&ble…", self.export_table, enabled=there),
            ActionSpec("Export the fleet's &parameters…", self.plots_export.ask, enabled=there),
            ActionSpec("Export the transfer &matrix…", self.map_export.ask, enabled=there),
        ]

    def entered(self) -> None:
        self._show_current()

    # Display.

    @property
    def friction(self) -> str:
        """Friction model whose results are shown; empty while there is none."""
        return str(self.model.currentData() or "")

    @property
    def shown_model(self) -> ModelSummary | None:
        """Results of the shown friction model."""
        summary = self.running.summary
        return summary.models.get(self.friction) if summary is not None else None

    def refresh(self) -> None:
        """Update after the start or end of a computation."""
        running = self.running
        self.form.setEnabled(not running.active)
        self.show_empty(running.summary is None and not running.active and not running.reading.active)
        self._say_state()
        self._enable()

    def _paint(self) -> None:
        self._stale.add(PARAMETERS)
        self._show_current()

    def _take_summary(self) -> None:
        summary = self.running.summary
        if summary is not None and summary.folder == self._opening:
            self._opening = None
            self._picked = ""
            self.form.suit(summary)
        self._offer_models(summary)
        self._stale = {UNITS, PARAMETERS, TRANSFER, SPREAD}
        self.show_empty(summary is None and not self.running.active and not self.running.reading.active)
        self._show_current()
        self._say_state()
        self._enable()

    def _offer_models(self, summary: FleetSummary | None) -> None:
        offered = tuple(summary.models) if summary is not None else ()
        best = summary.recommended if summary is not None else ""
        texts = [f"{name.upper()} ★" if name == best else name.upper() for name in offered]
        if texts != [self.model.itemText(place) for place in range(self.model.count())]:
            self.model.clear()
            for text, name in zip(texts, offered, strict=True):
                self.model.addItem(text, name)
        wanted = self._picked if self._picked in offered else best
        self.model.setCurrentIndex(max(0, self.model.findData(wanted)) if offered else -1)
        self.model.setEnabled(bool(offered))

    def _pick(self) -> None:
        self._picked = self.friction
        self._stale = {UNITS, PARAMETERS, TRANSFER, SPREAD}
        self._show_current()

    def _show_tab(self, place: int) -> None:
        self._pages.setCurrentIndex(place)
        self._tools.setCurrentIndex({UNITS: 0, PARAMETERS: 1, TRANSFER: 2, SPREAD: 0}[place])
        self._show_current()

    def _show_current(self) -> None:
        """Draw the visible tab if it is outdated."""
        place = self.tabs.current
        if not self.isVisible():
            return
        summary, model = self.running.summary, self.shown_model
        if place in self._stale:
            self._stale.discard(place)
            if place == UNITS:
                self.units.show_model(summary, self.friction)
            elif place == PARAMETERS and summary is not None and model is not None:
                self.parameters.show_model(summary, model, self._controller.angle_unit)
            elif place == TRANSFER:
                self._show_transfer()
            elif place == SPREAD:
                self.spread.show_model(summary, model)
        if place == SPREAD:
            self.spread.enter(self.running.active)

    def _show_transfer(self) -> None:
        summary = self.running.summary
        found = summary.transfer if summary is not None else None
        self.transfer.setVisible(found is not None)
        self.order.setEnabled(found is not None)
        if found is None:
            few = summary is not None and len(summary.units) < 2
            why = "transfer needs at least two units" if few else "it is computed after all fits"
            self.map_note.setText(f"No transfer yet: {why}.")
            return
        own = 1e3 * float(found.errors.diagonal().mean())
        self.map_note.setText(
            f"{found.friction.upper()} of the row's unit scored on the runs of the column's; {own:.3g} mrad on average "
            "with the unit's own model."
        )
        self.transfer.show_transfer(found, str(self.order.currentData()))
        self.transfer.select(self.units.selected)

    def _select(self, unit: str) -> None:
        self.parameters.select(unit)
        self.transfer.select(unit)

    def _change_unit(self) -> None:
        self.units.set_unit(self._controller.angle_unit)
        self._stale |= {PARAMETERS, SPREAD}
        self._show_current()

    # Texts.

    def _say_state(self) -> None:
        running = self.running
        self.note.setText(self._state_in_words())
        self.stop_button.setToolTip(
            "Stop soon; finished fits are kept, and Start continues with the rest"
            if running.active
            else "Nothing is running"
        )

    def _state_in_words(self) -> str:
        running, summary = self.running, self.running.summary
        if running.reading.active:
            return "Reading the fleet…"
        if running.active:
            return capitalised(running.activity.words)
        if summary is None:
            return ""
        failed = [unit for unit in summary.units if unit.problem]
        parts = [
            f"{counted(len(summary.units), 'unit')} of {summary.servo}",
            f"{summary.done} of {counted(summary.tasks, 'fit')}",
            *([f"{len(failed)} cannot be fitted"] if failed else []),
            *(["stopped: Start continues with the rest"] if running.stopped else []),
            *dict.fromkeys(unit.damage for unit in summary.units if unit.damage),
            *summary.problems,
        ]
        return "; ".join(parts)

    def _enable(self) -> None:
        running = self.running
        why = "a fleet is running" if running.active else self.form.obstacle
        allow(self.start_button, why, "Compute every fit that the folder does not hold yet")
        first = self.is_empty and bool(why)
        restyle(self.start_button, "kind", "" if first else "primary")
        restyle(self.try_button, "kind", "primary" if first else "")
        self.stop_button.setEnabled(running.active and not running.stopping)
        self.open_button.setEnabled(not running.active)
        self.try_button.setEnabled(not running.active)
        for export in (self.plots_export.button, self.map_export.button, self.table_button):
            export.setEnabled(self.model.isEnabled())

    def _title(self) -> str:
        summary = self.running.summary
        return "Fleet" if summary is None else f"Fleet of {len(summary.units)} {summary.servo}, {self.friction.upper()}"

    def _plot_contents(self) -> Plot:
        return gather([strip.chart for strip in self.parameters.shown], self._title())

    def _map_contents(self) -> Plot:
        panel = self.transfer.panel()
        return Plot(f"{self._title()}, transfer", () if panel is None else (panel,))
