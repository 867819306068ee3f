"""Work in progress of the servo and of reading files; computations report their own."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QStackedWidget, QWidget

from bench_gui.controller import Controller
from bench_gui.shell.tasks import BENCH, EXPORT, IDENTIFY, PLACE, RECORD
from bench_gui.work.activity import Activity, State
from bench_gui.work.process import Share
from core.base.words import counted
from drivers.recorder import Phase, RunResult

_PHASES = {Phase.APPROACH: "moving to the start", Phase.RUN: "", Phase.RETURN: "returning"}


class UnderWay(QObject):
    """Follows the servo, the queue and the session."""

    def __init__(self, controller: Controller) -> None:
        super().__init__(controller)
        self._controller, self._activities = controller, controller.activities
        servo, queue, library = controller.servo, controller.queue, controller.library
        self.connecting = Activity(
            "Connection", servo.disconnect_servo, "Cancel", "Disconnect the servo; nothing has moved yet"
        )
        self.recording = Activity(
            "Recording",
            queue.abort,
            "Abort",
            "End the run, keep its samples and return the pendulum slowly",
            moves=True,
        )
        self.holding = Activity(
            "Held torque", servo.end_hold, "End", "Ramp the torque down, then switch the motor off",
            missed="a torque is held; the pendulum will drop", moves=True,
        )  # fmt: skip
        self.driving = Activity("Servo", missed="the servo is driven", moves=True)
        self.reading = Activity("Session", library.give_up, "Cancel", "Stop reading; an import then changes nothing")
        servo.announced.connect(lambda text: self._activities.note(self.connecting, text))
        for heard in (servo.changed, queue.changed):
            heard.connect(self._look_at_servo)
        queue.ended.connect(self._note_run)
        library.runs_changed.connect(self._look_at_session)
        controller.activities.ticked.connect(self._look_at_session)

    def seen_in(self, number: int, page: QWidget) -> None:
        """Register the page of a task as the place where its work is shown."""
        controller = self._controller
        computing = {
            IDENTIFY: (controller.fitting, controller.reporting),
            EXPORT: (controller.exporting.writer, controller.exporting.checker),
        }
        moving = {BENCH: (self.connecting,), RECORD: (self.recording, self.driving), PLACE: (self.holding,)}
        for activity in (*moving.get(number, ()), *(each.activity for each in computing.get(number, ()))):
            activity.view = page

    def _look_at_servo(self) -> None:
        queue, servo = self._controller.queue, self._controller.servo
        running = queue.current is not None
        self._follow(self.connecting, servo.view.connecting)
        self._follow(self.recording, running)
        self._follow(self.holding, servo.holding and not running)
        self._follow(self.driving, servo.busy and not servo.holding and not running)
        if running:
            self._show_recording()

    def _show_recording(self) -> None:
        queue, view = self._controller.queue, self._controller.servo.view
        run = queue.running
        assert run is not None
        place, total = queue.place
        which = f"{place} of {total}, " if total > 1 else ""
        doing = _PHASES.get(view.phase, "")
        share = 1.0 if view.phase is Phase.RETURN else 0.0
        if view.phase is Phase.RUN and view.length:
            share = view.done / view.length
        told = Share(share, f"{which}{run.trajectory.title}" + (f", {doing}" if doing else ""))
        self._activities.tell(self.recording, told)
        waiting = len(queue.waiting)
        more = f" and {waiting} more in the queue" if waiting else ""
        self.recording.missed = f"a recording: {run.trajectory.title}{more}"

    def _note_run(self, result: RunResult) -> None:
        good = result.exit_status == "success"
        kept = f"{result.id}, {counted(result.samples, 'sample')}" if good else f"{result.id}, not complete"
        self._activities.end(self.recording, State.DONE, kept)

    def _look_at_session(self) -> None:
        library = self._controller.library
        if self._follow(self.reading, library.loading):
            self.reading.title = library.doing
            read, total = library.progress
            if total:
                self._activities.tell(self.reading, Share(read / total, f"{read} of {counted(total, 'file')}"))

    def _follow(self, activity: Activity, on: bool) -> bool:
        """Start or end an activity without progress; return True while it is in progress."""
        if on and not activity.running:
            self._activities.begin(activity)
        elif not on and activity.running:
            self._activities.forget(activity)
        return on


def bring_into_sight(widget: QWidget) -> None:
    """Make a widget visible by switching every stack on the way to it."""
    outer = widget.parentWidget()
    while outer is not None:
        if isinstance(outer, QStackedWidget):
            outer.setCurrentWidget(widget)
        widget, outer = outer, outer.parentWidget()
