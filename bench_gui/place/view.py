"""Place page: hold a torque, find by hand where the pendulum just still rests, watch the diagram grow."""

from __future__ import annotations

from PySide6.QtCore import QItemSelectionModel, QSize, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QCheckBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QTableView,
)

from bench_gui.actions import ActionSpec
from bench_gui.controller import Controller
from bench_gui.icons import line_icon
from bench_gui.place.diagram import PlacementDiagram
from bench_gui.place.form import CaptureForm, TorqueForm
from bench_gui.place.guidance import BACKLASH_STEPS, STEPS, USE, Guidance, guidance
from bench_gui.place.placing import Stage
from bench_gui.place.point_table import PointTable
from bench_gui.state.servo_link import ServoView
from bench_gui.theme import themes
from bench_gui.widgets.fields import EmptyState, Section, button, describe, hbox, label, restyle, vbox
from bench_gui.widgets.hand_pendulum import NO_RANGE, HandPendulum, Range
from bench_gui.widgets.page import TaskPage
from bench_gui.widgets.start_button import StartButton, held_by
from bench_gui.widgets.tables import fit_columns, plain_table
from core.base.words import counted
from core.practice.placement import DISAGREEMENT, disagreement, expected_angles
from drivers.servo import ServoState

BIG = 40
"""Height of the buttons pressed with one hand on the pendulum [px]."""
TABLE_HEIGHT = 180


class PlaceView(TaskPage):
    """The pendulum to move by hand, and the drive/backdrive diagram beside it."""

    help_page = "placing"
    points_wanted = Signal()
    """Emitted when the points shall be used in the next identification."""

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self._controller = controller
        self._placing = controller.placing
        self._shown: Guidance | None = None
        self._expected: Range = NO_RANGE
        self._judged: tuple[object, ...] = ()
        self.models: tuple[str, ...] = ()
        """Keys of the models drawn besides the bench's current one."""
        self._add_banner()
        self.pendulum = HandPendulum()
        self.diagram = PlacementDiagram()
        picture = hbox(spacing=10)
        picture.addWidget(self.pendulum, 9)
        picture.addWidget(self.diagram, 10)
        self.centre.addLayout(picture, 1)
        self.torque_form = TorqueForm(self._placing, controller.undo)
        self.settings.addWidget(self.torque_form)
        self._add_table()
        self.capture_form = CaptureForm(self._placing, controller.settings)
        self.settings.addWidget(self.capture_form)
        self._curves = Section("Curves")
        self.boxes: dict[str, QCheckBox] = {}
        self.settings.addWidget(self._curves)
        self.settings.addStretch(1)
        self._add_actions()
        self._key = QShortcut(self)
        self._key.setContext(Qt.ShortcutContext.WindowShortcut)
        self._key.activated.connect(self._placing.capture)
        self.connect_button: QPushButton = button(
            "Connect", "Connect to the chosen servo", controller.servo.connect_servo
        )
        self.set_empty_state(
            EmptyState(
                "No points yet",
                "Connect a servo. It holds a torque while you move the pendulum to the lowest and highest angles at "
                "which it still rests, and the drive/backdrive diagram grows point by point.",
                self.connect_button,
            )
        )
        self._connect()
        self._offer_models()
        self._show_points()
        self._show_step()
        themes.changed.connect(self._colour_boxes)
        themes.changed.connect(self._show_live)

    # Building.

    def _add_banner(self) -> None:
        frame = QFrame()
        frame.setProperty("role", "card")
        row = hbox(frame, spacing=12, margins=(10, 7, 10, 7))
        self.state: QLabel = describe(
            label(), "State", "State of the servo; MOTOR OFF means that it confirmed the release"
        )
        # The same style as the state at the top of the window.
        self.state.setObjectName("stateWord")
        texts = vbox(spacing=1)
        self.instruction: QLabel = describe(label("", "title"), "Instruction", "Next action")
        self.note: QLabel = describe(label("", "muted"), "Result", "Result of the last rest")
        for line in (self.instruction, self.note):
            line.setWordWrap(True)
            texts.addWidget(line)
        row.addWidget(self.state, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addLayout(texts, 1)
        self.centre.addWidget(frame)
        self.steps = [label("", "muted") for _ in STEPS]
        strip = hbox(spacing=24)
        for part in self.steps:
            strip.addWidget(part)
        strip.addStretch(1)
        self.centre.addLayout(strip)

    def _add_table(self) -> None:
        section = self._placed = Section("Points")
        self.table = PointTable()
        self.points: QTableView = plain_table(
            "Placed points", "Lowest and highest angle at each torque; choose a point to measure it again or delete it"
        )
        self.points.setSelectionBehavior(QTableView.SelectionBehavior.SelectItems)
        self.points.setModel(self.table)
        self.points.setFixedHeight(TABLE_HEIGHT)
        self.points.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        fit_columns(self.points, range(self.table.columnCount()))
        self.points.selectionModel().selectionChanged.connect(lambda *_: self._enable())
        section.wide(self.points)
        self.warning = label("", "fault")
        self.warning.setWordWrap(True)
        self.warning.hide()
        section.wide(self.warning)
        controller = self._controller
        self.undo_button = button("Undo", "Undo the last edit, e.g. a point", controller.undo.undo, "small")
        self.redo_button = button("Redo", "Redo the last undone edit", controller.undo.redo, "small")
        self.undo_button.setEnabled(controller.undo.canUndo())
        self.redo_button.setEnabled(controller.undo.canRedo())
        self.again_button = button("Measure again", "Measure the chosen extreme again", self._again, "small")
        self.delete_button = button("Delete", "Delete the chosen point", self._delete, "small")
        for pair in ((self.again_button, self.delete_button), (self.undo_button, self.redo_button)):
            row = hbox(spacing=6)
            for part in pair:
                row.addWidget(part, 1)
            section.layout().addLayout(row)  # type: ignore[union-attr]
        self.settings.addWidget(section)

    def _add_actions(self) -> None:
        self.go_button = StartButton("Hold", "", self._go, self.inspector)
        self.capture_button = button(
            "Capture", "Capture the angle at which the pendulum rests now", self._placing.capture
        )
        self.release_button = button(
            "Release", "Lower the torque slowly to zero and switch the motor off", self._placing.release
        )
        for part in (self.go_button, self.capture_button, self.release_button):
            part.setMinimumHeight(BIG - 12)
        self.go_button.setMinimumHeight(BIG)
        self.actions_column.addWidget(self.go_button)
        self.skip_button = button("Skip", "Continue without this extreme", self._placing.next, "flat")
        self.actions_column.addWidget(self.skip_button, 0, Qt.AlignmentFlag.AlignHCenter)
        row = QHBoxLayout()
        row.addWidget(self.capture_button, 1)
        row.addWidget(self.release_button, 1)
        self.actions_column.addLayout(row)

    def _connect(self) -> None:
        controller, placing = self._controller, self._placing
        self.pendulum.pulled.connect(lambda angle: placing.hand.pull_to(controller.setup.servo_angle(angle)))
        self.pendulum.pushed.connect(lambda direction: placing.hand.push(direction * controller.setup.direction))
        self.pendulum.let_go.connect(placing.hand.let_go)
        placing.changed.connect(self._show_step)
        placing.points_changed.connect(self._show_points)
        placing.plan_changed.connect(self._show_points)
        controller.servo.rows.connect(lambda _: self._show_live())
        controller.servo.changed.connect(self._show_servo)
        controller.setup.changed.connect(self._show_step)
        controller.model_list.changed.connect(self._offer_models)
        controller.model_list.current_changed.connect(self._offer_models)
        controller.angle_unit_changed.connect(self._change_unit)
        controller.settings.changed.connect(lambda _: self._show_step())
        controller.undo.canUndoChanged.connect(self.undo_button.setEnabled)
        controller.undo.canRedoChanged.connect(self.redo_button.setEnabled)

    # Called by the window.

    def entered(self) -> None:
        """Update the page and take the arrow keys."""
        self._show_points()
        self._show_step()
        self._show_live()
        self.pendulum.setFocus()

    def actions_offered(self) -> list[ActionSpec]:
        placing = self._placing
        return [
            ActionSpec("Hold the next torque", self._hold, "Ctrl+H", enabled=lambda: self._ready),
            ActionSpec(
                "Capture this rest", placing.capture, enabled=lambda: placing.stage is Stage.MEASURING,
                tip="The capture key and a foot pedal do the same",
            ),
            ActionSpec(
                "Next extreme", placing.next,
                enabled=lambda: placing.stage is Stage.MEASURING and not placing.backlash,
            ),
            ActionSpec("Release the held torque", placing.release, enabled=lambda: self._holding),
            ActionSpec("Suggest torques", self.torque_form.suggest_button.click, enabled=lambda: not placing.active),
            ActionSpec("Measure the chosen point again", self._again, enabled=self.again_button.isEnabled),
            ActionSpec("Delete the chosen point", self._delete, enabled=self.delete_button.isEnabled),
        ]  # fmt: skip

    @property
    def _holding(self) -> bool:
        return self._placing.stage in (Stage.STARTING, Stage.MEASURING)

    @property
    def _ready(self) -> bool:
        controller, placing = self._controller, self._placing
        return (
            not placing.active
            and placing.torque is not None
            and controller.servo.view.state is ServoState.READY
            and not controller.servo.busy
        )

    # Actions of the user.

    def _go(self) -> None:
        if held_by(self.inspector):
            return
        servo = self._controller.servo
        if servo.view.state is ServoState.DISCONNECTED:
            servo.connect_servo()
        elif servo.view.state is ServoState.FAULT:
            servo.acknowledge()
        elif self._placing.stage is Stage.MEASURING:
            self._placing.next()
        elif self._placing.complete and not self._placing.backlash:
            self.points_wanted.emit()
            self.task_wanted.emit("Identify")
        else:
            self._placing.hold()

    def _hold(self) -> None:
        if not held_by(self.inspector):
            self._placing.hold()

    def _again(self) -> None:
        target = self.table.target(self.points.currentIndex())
        if target is not None:
            self._placing.again(target)

    def _delete(self) -> None:
        target = self.table.target(self.points.currentIndex())
        if target is not None:
            self._placing.delete(target)

    def _choose_models(self) -> None:
        self.models = tuple(key for key, box in self.boxes.items() if box.isChecked())
        self._draw_models()

    def _change_unit(self) -> None:
        self._show_points()
        self._show_live()

    # Display.

    def _show_servo(self, view: ServoView) -> None:
        if self.isVisible():
            self._show_step()
            self._show_live()

    def _show_step(self) -> None:
        controller, placing, view = self._controller, self._placing, self._controller.servo.view
        self.show_empty(view.state is ServoState.DISCONNECTED and not view.connecting and not placing.points)
        key = str(controller.settings.capture_key)
        if self._key.key().toString() != key:
            self._key.setKey(QKeySequence(key))
        # Only while it captures: otherwise the space bar presses the focused button.
        self._key.setEnabled(placing.stage is Stage.MEASURING and not self.capture_form.key.listening)
        shown = guidance(placing, view, key)
        if shown != self._shown:
            self._shown = shown
            self.state.setText(shown.state)
            restyle(self.state, "state", shown.kind)
            self.instruction.setText(shown.text)
            self.go_button.setText(shown.primary or "Hold")
            self.go_button.setAccessibleName(self.go_button.text())
            self.go_button.setToolTip(_tip(shown, placing.stage))
            self.skip_button.setText(shown.skip)
            self.skip_button.setAccessibleName(shown.skip or "Skip")
            steps = BACKLASH_STEPS if placing.backlash else STEPS
            for number, (step, part) in enumerate(zip(steps, self.steps, strict=True)):
                part.setText(f"{number + 1}  {step}")
                restyle(part, "role", "title" if number == shown.step else "muted")
        self.note.setText(placing.note)
        self.note.setVisible(bool(placing.note))
        self.pendulum.show_bench(placing.bench)
        self.pendulum.set_hand(placing.hand.free)
        for part, filled in ((self.diagram, True), (self._placed, True), (self._curves, bool(self.boxes))):
            part.setVisible(filled and not placing.backlash)
        sought = placing.target if placing.active and not placing.backlash else None
        self.table.set_sought(sought)
        self._show_doubts()
        self._show_ranges()
        self._show_search()
        self._enable()

    def _show_points(self) -> None:
        controller, placing = self._controller, self._placing
        self.table.set_unit(controller.angle_unit, controller.setup.direction)
        points = [p for p in placing.points if p.bench == placing.bench]
        self.table.set_points(points, placing.plan.targets, placing.plan.model)
        self.diagram.show_points(placing.points)
        self._draw_models()
        self._show_step()
        if placing.target is not None and placing.active:
            cell = self.table.cell(placing.target)
            if cell.isValid():
                self.points.scrollTo(cell)
                self.points.selectionModel().setCurrentIndex(cell, QItemSelectionModel.SelectionFlag.NoUpdate)

    def _show_doubts(self) -> None:
        """Mark points that disagree with the model before they are used in a fit, except the sought one."""
        placing, model = self._placing, self._placing.plan.model
        judged = placing.points, placing.target if placing.active else None, model
        if judged == self._judged:
            return
        self._judged = judged
        points, sought, _ = judged
        placed = [p for p in points if sought is None or not sought.matches(p)]
        doubtful = [p for p in placed if model is not None and disagreement(model, p) > DISAGREEMENT]
        self.diagram.show_doubtful(doubtful)
        title = model.title if model is not None else ""
        verb = "disagrees" if len(doubtful) == 1 else "disagree"
        text = f"{counted(len(doubtful), 'point')} {verb} with {title} by more than {DISAGREEMENT:g} σ"
        self.warning.setText(f"{text}: measure again before a fit, or delete" if doubtful else "")
        self.warning.setVisible(bool(doubtful))

    def _show_live(self) -> None:
        theme = themes.current
        if not self.isVisible() or self.is_empty:
            return
        controller, placing, view = self._controller, self._placing, self._controller.servo.view
        colour = getattr(theme, view.kind)
        self.pendulum.show_torque(placing.bench.external_torque(view.position))
        self.pendulum.show_gauge(placing.level)
        self.pendulum.show_angle(controller.setup.bench_angle(view.position), controller.angle_unit, colour)
        self._show_search()

    def _show_search(self) -> None:
        placing, view = self._placing, self._controller.servo.view
        torque = placing.bench.external_torque(view.position)
        target = placing.target if self._holding and not placing.backlash else None
        self.diagram.show_search(target, placing.best, torque)

    def _show_ranges(self) -> None:
        placing, setup = self._placing, self._controller.setup
        found, falls = placing.known_range()
        expected = NO_RANGE
        if placing.plan.model is not None and placing.target is not None and not placing.backlash:
            expected = expected_angles(placing.plan.model, placing.bench, placing.target.torque)
        drawn = [tuple(sorted((setup.bench_angle(low), setup.bench_angle(high)))) for low, high in (found, expected)]
        brackets = [(setup.bench_angle(rest), setup.bench_angle(fell)) for rest, fell in zip(found, falls, strict=True)]
        self.pendulum.show_ranges(drawn[0], drawn[1], brackets)  # type: ignore[arg-type]

    def _enable(self) -> None:
        placing, shown = self._placing, self._shown
        measuring = placing.stage is Stage.MEASURING
        self.go_button.setEnabled(bool(shown and shown.primary) and not (shown and shown.skip))
        # Until it has fallen the hand moves the pendulum; then a key or this button captures where it rests.
        by_hand = measuring and (placing.backlash or not placing.bracketed(placing.target))
        plain = by_hand or self._controller.servo.view.unready
        restyle(self.go_button, "kind", "" if plain else "primary")
        restyle(self.capture_button, "kind", "primary" if by_hand and not placing.auto else "")
        self.skip_button.setVisible(bool(shown and shown.skip))
        self.capture_button.setEnabled(measuring)
        self.release_button.setEnabled(self._holding)
        target = self.table.target(self.points.currentIndex())
        chosen = target is not None and not placing.backlash and bool(self.points.selectionModel().selectedIndexes())
        self.again_button.setEnabled(chosen and placing.stage in (Stage.IDLE, Stage.MEASURING))
        self.delete_button.setEnabled(chosen and placing.placed(target) is not None and not placing.obstacle)

    # The models' curves.

    def _offer_models(self) -> None:
        model_list = self._controller.model_list
        self._curves.clear()
        self.boxes = {}
        current = model_list.current
        for entry in model_list.entries:
            box = QCheckBox(entry.title + ("  (the bench's)" if entry is current else ""))
            box.setChecked(entry.key in self.models or entry is current)
            box.setEnabled(entry is not current)
            box.setIconSize(QSize(22, 10))
            describe(box, f"Draw {entry.title}", f"Drive and backdrive torque by {entry.model.title}")
            box.toggled.connect(lambda _: self._choose_models())
            self._curves.wide(box)
            self.boxes[entry.key] = box
        self._colour_boxes()
        self._draw_models()
        self._show_step()

    def _colour_boxes(self) -> None:
        for key, box in self.boxes.items():
            entry = self._controller.model_list.entry(key)
            if entry is not None:
                box.setIcon(line_icon(entry.style))

    def _draw_models(self) -> None:
        model_list, placing = self._controller.model_list, self._placing
        current = model_list.current
        chosen = [e for e in model_list.entries if e is current or e.key in self.models]
        torques = [*placing.plan.torques, *(p.motor_torque for p in placing.points)]
        self.diagram.show_models(chosen, current.key if current is not None else "", torques)


def _tip(shown: Guidance, stage: Stage) -> str:
    if not shown.primary:
        return shown.text
    if shown.primary == "Connect":
        return "Connect to the chosen servo"
    if shown.primary == USE:
        return "Continue with an identification that also uses the placed points"
    if shown.primary == "Acknowledge":
        return "Acknowledge the fault; the servo may be driven again"
    if stage is Stage.MEASURING:
        return "Keep the best rest of this side and continue; best after the pendulum has fallen beyond it"
    return "Hold this torque; it rises slowly"
