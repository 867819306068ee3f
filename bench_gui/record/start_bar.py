"""The primary record button, with the reason when it cannot record, and the secondary actions beside it."""

from __future__ import annotations

import math
from collections.abc import Callable

from PySide6.QtWidgets import QHBoxLayout, QLabel, QMenu, QPushButton, QToolButton, QWidget

from bench_gui.controller import Controller
from bench_gui.record.recording import paper_set
from bench_gui.widgets.fields import button, label, restyle, tool, vbox
from bench_gui.widgets.start_button import StartButton, held_by
from core.base.units import duration
from core.base.words import capitalised, counted
from core.motion.trajectories import Trajectory

ARROW_HEIGHT = 31
"""Height of a button with an arrow [px]: a layout knows only of the 28 that the style sheet asks for."""


class StartBar(QWidget):
    """Records the waiting runs, or the chosen trajectory if none waits."""

    def __init__(
        self,
        controller: Controller,
        form: QWidget,
        chosen: Callable[[], Trajectory | str],
        add_missing: Callable[[], object],
        identify: Callable[[], object],
    ) -> None:
        """Build the bar.

        Args:
            controller: The parts of the window.
            form: The settings of the next run.
            chosen: Returns the trajectory of the form, or the reason why it cannot be recorded.
            add_missing: Adds the missing runs of the plan to the list.
            identify: Goes to the page that identifies a model from the runs.
        """
        super().__init__()
        self._controller, self._form, self._chosen = controller, form, chosen
        self._asked = False
        queue = controller.queue
        column = vbox(self, spacing=8)
        self.reason: QLabel = label("", "muted")
        self.reason.setWordWrap(True)
        self.reason.setAccessibleName("State of the list, or what is missing for a run")
        self.run_button = StartButton("Record", "", self.go, form)
        self.run_button.setMinimumHeight(26)
        self.identify_button: QPushButton = button(
            "Identify", "Continue with the identification of a model from these runs", identify
        )
        self.identify_button.setMinimumHeight(26)
        self.add_button = self._make_add(add_missing)
        self.pause_button: QPushButton = button("Pause", "", self._pause)
        self.abort_button: QPushButton = button(
            "Abort", "End the run, keep its samples and return the pendulum slowly", queue.abort
        )
        row = QHBoxLayout()
        for part in (self.add_button, self.pause_button, self.abort_button):
            row.addWidget(part, 1)
        row.addStrut(ARROW_HEIGHT)
        column.addWidget(self.reason)
        column.addWidget(self.identify_button)
        column.addWidget(self.run_button)
        column.addLayout(row)
        queue.changed.connect(self.refresh)
        queue.countdown.counted.connect(lambda _: self.refresh())
        controller.servo.changed.connect(lambda _: self.refresh())
        library = controller.library
        for signal in (library.runs_changed, library.fit_changed, library.locked_changed):
            signal.connect(self.refresh)

    def _make_add(self, add_missing: Callable[[], object]) -> QToolButton:
        made = tool("Add", "Add the chosen trajectory to the list, with the present bench", "")
        made.setText("Add")
        made.setPopupMode(QToolButton.ToolButtonPopupMode.MenuButtonPopup)
        made.clicked.connect(self.add)
        menu = QMenu(made)
        time = duration(sum(trajectory.duration for trajectory in paper_set()))
        for text, act in (
            ("The chosen trajectory", self.add),
            (f"The paper’s four ({time})", self.add_paper_set),
            ("Missing runs of the plan", add_missing),
        ):
            menu.addAction(text).triggered.connect(lambda _, act=act: act())
        made.setMenu(menu)
        return made

    # Actions of the user.

    def go(self) -> None:
        """Record the waiting runs or the chosen trajectory; if that is not possible, show what is missing."""
        queue = self._controller.queue
        if queue.active or held_by(self._form):
            return
        if not queue.waiting:
            self.record_chosen()
        elif queue.obstacle:
            self._ask()
        else:
            queue.resume()

    def record_chosen(self) -> None:
        """Record the chosen trajectory now, before the waiting runs."""
        if held_by(self._form):
            return
        queue, chosen = self._controller.queue, self._chosen()
        if isinstance(chosen, str) or queue.obstacle:
            self._ask()
        else:
            queue.record([chosen])

    def add(self) -> None:
        """Add the chosen trajectory to the list."""
        if held_by(self._form):
            return
        chosen = self._chosen()
        if isinstance(chosen, str):
            self._ask()
        else:
            self._controller.queue.add([chosen])

    def add_paper_set(self) -> None:
        """Add the paper's four trajectories to the list."""
        if not held_by(self._form):
            self._controller.queue.add(paper_set())

    def _pause(self) -> None:
        queue = self._controller.queue
        if queue.paused:
            queue.resume()
        else:
            queue.pause()

    def _ask(self) -> None:
        """Show what is missing until it is no longer missing."""
        self._asked = True
        self.refresh()

    # Display.

    def refresh(self) -> None:
        """Update the text and state of the button, and the reason if it cannot record."""
        queue = self._controller.queue
        chosen = self._chosen()
        missing = chosen if isinstance(chosen, str) else "" if queue.active else queue.obstacle
        self._asked = self._asked and bool(missing)
        self.run_button.setText(self._text())
        self.run_button.setAccessibleName(self.run_button.text())
        self.run_button.setEnabled(not (queue.active or self._controller.library.locked))
        runs = self._recorded
        self.identify_button.setVisible(runs > 0)
        self.identify_button.setText(f"Identify {counted(runs, 'run')}")
        self.identify_button.setAccessibleName(self.identify_button.text())
        unready = self._controller.servo.view.unready
        for part, now in ((self.run_button, not runs), (self.identify_button, runs)):
            restyle(part, "kind", "primary" if now and not unready else "")
        tip = "Record the waiting runs of the list, from the top" if queue.waiting else "Record the chosen trajectory"
        self.run_button.setToolTip(capitalised(missing) or tip)
        reason = capitalised(missing) if self._asked else queue.reason
        self.reason.setText(reason)
        self.reason.setVisible(bool(reason))
        restyle(self.reason, "role", "fault" if self._asked else "muted")
        self.pause_button.setText("Resume" if queue.active and queue.paused else "Pause")
        self.pause_button.setToolTip("Finish the present run and start no other; Resume cancels the pause")
        self.pause_button.setEnabled(queue.active)
        self.abort_button.setEnabled(queue.active)

    @property
    def _recorded(self) -> int:
        """Number of runs to identify from once all were recorded that were requested; else 0."""
        queue = self._controller.queue
        ended = any(result.exit_status == "success" for _, result in queue.past)
        return len(self._controller.library.for_fit()) if ended and not queue.active and not queue.waiting else 0

    def _text(self) -> str:
        controller, queue = self._controller, self._controller.queue
        place, total = queue.place
        of = f" {place} of {total}" if total > 1 else ""
        if queue.countdown.left > 0.0:
            return f"Starts in {math.ceil(queue.countdown.left)} s"
        if queue.active:
            return f"Recording{of}"
        if (locked := controller.servo.view.locked_for) > 0.0:
            return f"Locked for {math.ceil(locked)} s"
        if queue.by_hand:
            return "Continue"
        if queue.waiting:
            return f"Record {counted(len(queue.waiting), 'run')}, {duration(queue.time(queue.waiting))}"
        chosen = self._chosen()
        return "Record" if isinstance(chosen, str) else f"Record 1 run, {duration(chosen.duration)}"
