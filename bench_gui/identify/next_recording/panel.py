"""Panel with the next best recordings: proposes cells of the plan and adds them to the queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QPushButton, QSpinBox, QTableView, QWidget

from bench_gui.controller import Controller
from bench_gui.identify.chosen import chosen_material, latest_model, servo_to_propose_for
from bench_gui.identify.fit.settings_form import SettingsForm
from bench_gui.identify.next_recording.compute import ProposeJob
from bench_gui.identify.words_cell import WordsDelegate
from bench_gui.widgets.binding import Binding
from bench_gui.widgets.fields import FIELD_WIDTH, button, caption_of, choice, hbox, label, restyle, vbox, whole
from bench_gui.widgets.page import Placeholder
from bench_gui.widgets.start_button import StartButton, held_by
from bench_gui.widgets.tables import fit_columns, plain_table
from bench_gui.widgets.text_table import Cell, Column, Index, TextTable
from bench_gui.work.computation import Computation
from bench_gui.work.process import Share
from core.base.units import significant
from core.base.words import capitalised, counted
from core.identification.next.proposal import NextRecordings, Proposal
from core.practice.plan import Cell as PlanCell
from core.practice.plan import suggested_plan
from core.servo.catalogue import load_servo

MOST = 24
WORDS_COLUMN = 5
COUNT_WIDTH = 64
"""Width of the field for the number of recordings [px]."""
VISIBLE = 1.05
"""Smallest factor by which a listed interval shrinks."""
_OBJECTIVES = {"volume": "joint confidence region", "widths": "single intervals"}


class ProposalTable(TextTable):
    """Proposals, each with a check box."""

    checked_changed = Signal()

    def __init__(self) -> None:
        super().__init__(
            (
                Column("Trajectory", "Checked recordings are added to the queue"),
                Column("Load [kg]", "Mass at the end of the rod", True),
                Column("Length [m]", "Shaft to load", True),
                Column("Gain kp", "Position gain in the servo's unit", True),
                Column("Volume", "Change of the volume of the joint 95 % confidence region", True),
                Column("Benefit", "Intervals that it narrows most, in addition to the rows above"),
            )
        )
        self._proposals: tuple[Proposal, ...] = ()
        self._checked: set[int] = set()

    def show_proposals(self, proposals: Sequence[Proposal]) -> None:
        """Show these proposals, all checked."""
        self._proposals, self._checked = tuple(proposals), set(range(len(proposals)))
        self.show(
            [
                [
                    p.cell.trajectory,
                    f"{p.cell.mass:g}",
                    f"{p.cell.length:g}",
                    f"{p.cell.kp:g}",
                    f"÷ {significant(p.factor, 2)}",
                    Cell(p.words, _narrowed(p)),
                ]
                for p in proposals
            ]
        )
        self.checked_changed.emit()

    @property
    def checked(self) -> tuple[PlanCell, ...]:
        """Cells of the checked proposals, best first."""
        return tuple(p.cell for place, p in enumerate(self._proposals) if place in self._checked)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Make the first column checkable."""
        usual = super().flags(index)
        return usual | Qt.ItemFlag.ItemIsUserCheckable if index.column() == 0 else usual

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.CheckStateRole and index.column() == 0:
            return Qt.CheckState.Checked if index.row() in self._checked else Qt.CheckState.Unchecked
        return super().data(index, role)

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Check or uncheck a proposal."""
        if role != Qt.ItemDataRole.CheckStateRole or index.column() != 0:
            return False
        (self._checked.add if Qt.CheckState(value) is Qt.CheckState.Checked else self._checked.discard)(index.row())
        self.dataChanged.emit(index, index, [role])
        self.checked_changed.emit()
        return True


Proposals = Computation[ProposeJob, Share, NextRecordings]


class ProposalPanel(QWidget):
    """Requests proposals, shows them and adds them to the queue."""

    def __init__(self, controller: Controller, form: SettingsForm, proposing: Proposals) -> None:
        super().__init__()
        self._controller, self._form, self._proposing = controller, form, proposing
        self._shown: object = None
        column = vbox(self, spacing=6, margins=(0, 6, 0, 0))
        column.addLayout(self._head())
        column.addLayout(self._second_row())
        self.table = ProposalTable()
        self.table.checked_changed.connect(self._enable)
        self.view: QTableView = plain_table(
            "Proposed recordings", "Best first; Space checks or unchecks a recording for the queue"
        )
        self.view.setModel(self.table)
        fit_columns(self.view, range(WORDS_COLUMN))
        self._words = WordsDelegate(self.view, WORDS_COLUMN)
        column.addWidget(Placeholder(self.view), 1)
        proposing.changed.connect(self.refresh)
        proposing.progressed.connect(lambda _: self.status.setText(self._state()))
        controller.library.opened.connect(proposing.forget)
        controller.library.runs_changed.connect(proposing.supersede)
        controller.library.fit_changed.connect(proposing.supersede)
        for other_model in (controller.fitting.finished, controller.fitting.judged):
            other_model.connect(lambda _: proposing.supersede())
        controller.setup.changed.connect(self._enable)
        self.refresh()

    def _head(self) -> QHBoxLayout:
        row = hbox(spacing=8)
        self.propose_button = StartButton(
            "Propose recordings",
            "Find the cells of the recording plan that would reduce the uncertainty most",
            self.propose,
            self,
            self._form,
            kind="",
        )
        self.stop_button: QPushButton = button("Stop", "Stop the computation", self._proposing.stop)
        asked = Binding()
        count = whole("Recordings", "Number of recordings to propose", 6, 1, MOST)
        self.count: QSpinBox = asked.bind("count", count)
        self.count.setFixedWidth(COUNT_WIDTH)
        objective = choice(
            "Minimise",
            "Joint 95 % confidence region of all parameters, or the single intervals",
            [(text, key) for key, text in _OBJECTIVES.items()],
        )
        self.objective: QComboBox = asked.bind("objective", objective)
        self.objective.setFixedWidth(FIELD_WIDTH + 52)
        self._controller.settings.keep("proposals", lambda: asked.last, asked.restore, asked.edited)
        row.addWidget(self.propose_button)
        row.addWidget(self.stop_button)
        row.addSpacing(8)
        for text, field in (("Recordings", self.count), ("Minimise", self.objective)):
            row.addWidget(caption_of(field, text))
            row.addWidget(field)
        row.addStretch(1)
        return row

    def _second_row(self) -> QHBoxLayout:
        row = hbox(spacing=8)
        self.status: QLabel = label("", "muted")
        self.status.setWordWrap(True)
        self.status.setAccessibleName("State of the proposals")
        self.queue_button: QPushButton = button(
            "Add to the queue", "Add the checked recordings to the end of the queue in Record", self.enqueue
        )
        row.addWidget(self.status, 1)
        row.addWidget(self.queue_button)
        return row

    # User actions.

    def propose(self) -> None:
        """Propose recordings from the plan, judged by the shown model or the catalogue's."""
        if held_by(self, self._form):
            return
        controller = self._controller
        material = chosen_material(controller, self._form.settings())
        servo = servo_to_propose_for(controller)
        own = controller.setup.spec.name == servo
        self._proposing.forget()
        self._proposing.start(
            ProposeJob(
                material=material,
                servo=servo,
                model=latest_model(controller),
                plan=controller.plan.plan if own else suggested_plan(load_servo(servo)),
                count=self.count.value(),
                objective=str(self.objective.currentData()),
            )
        )

    def enqueue(self) -> None:
        """Add the checked recordings to the queue of the Record task."""
        found, cells = self._proposing.result, self.table.checked
        if found is None or not cells:
            return
        self._controller.plan.add(cells, found.plan)
        count = len(cells)
        self._controller.message.emit("info", f"{counted(count, 'recording')} added to the queue; start it in Record")

    # Events.

    def refresh(self) -> None:
        """Show the proposals and enable what is possible."""
        proposing = self._proposing
        found = proposing.result
        if found is not self._shown:
            self._shown = found
            named = [] if found is None else found.proposals[0].narrowings
            self._words.symbols = [narrowing.symbol for narrowing in named]
            self.table.show_proposals(() if found is None else found.proposals)
        self.view.setVisible(found is not None)
        self.status.setText(self._state())
        restyle(self.status, "role", "fault" if proposing.problem else "muted")
        self._enable()

    def _state(self) -> str:
        proposing, found = self._proposing, self._proposing.result
        if proposing.problem:
            return capitalised(proposing.problem)
        if proposing.active:
            return f"{capitalised(proposing.activity.words)}…"
        if found is not None:
            old = " The runs or the model have changed: propose again." if proposing.outdated else ""
            return f"Judged by {found.basis}.{old}"
        return (
            "Which recordings would narrow the intervals most? Candidates: the cells of the plan not recorded yet. "
            "Judged with the last identified model, or M6 from the catalogue."
        )

    def _enable(self) -> None:
        proposing, controller = self._proposing, self._controller
        found, count = proposing.result, len(self.table.checked)
        self.propose_button.setEnabled(not proposing.active)
        self.stop_button.setVisible(proposing.active)
        other = found is not None and found.servo != controller.setup.spec.name
        why = "propose recordings first" if found is None else "check at least one recording"
        if found is not None and other:
            bench, wanted = controller.setup.spec.title, load_servo(found.servo).title
            why = f"the bench is set up for {bench}, the recordings are for {wanted}: choose that servo under Bench"
        possible = found is not None and count > 0 and not other
        self.queue_button.setEnabled(possible)
        self.queue_button.setText(f"Add {count} to the queue" if possible else "Add to the queue")
        tip = "Add the checked recordings to the end of the queue in Record; nothing starts automatically"
        self.queue_button.setToolTip(tip if possible else f"Not possible: {why}")


def _narrowed(proposal: Proposal) -> str:
    """Change of each parameter's 95 % interval, one per line."""
    lines = []
    for n in proposal.narrowings:
        if n.factor >= VISIBLE:
            unit = "" if n.unit == "1" else f" {n.unit}"
            lines.append(f"{n.symbol}: ± {significant(n.before, 2)} → ± {significant(n.after, 2)}{unit}")
    return "\n".join(lines) or proposal.words
