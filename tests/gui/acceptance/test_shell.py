"""Acceptance of what surrounds the tasks: stop, faults, settings, closing, undo, palette, themes, a second start.

Each function is named after its row of the window's acceptance table.
"""

import json
import multiprocessing
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QApplication,
    QDialog,
    QDoubleSpinBox,
    QLabel,
    QLineEdit,
    QMenu,
    QMessageBox,
    QPushButton,
    QTabBar,
    QWidget,
)

from bench_gui.app import make_window
from bench_gui.compare.view import OVERLAY
from bench_gui.controller import Controller
from bench_gui.headless.palette import THEMES, load_theme
from bench_gui.settings import NAME
from bench_gui.shell.tasks import BENCH, COMPARE, EXPORT, RECORD, TASKS
from bench_gui.widgets.tabs import Segments
from core.base.units import DEGREES, RADIANS
from drivers.recorder import Phase
from drivers.servo import ServoState
from sessions.folders import HOME_VARIABLE
from tests.gui.conftest import dispose
from tests.gui.test_window import check_names

pytest_plugins = ["tests.gui.whole"]


def escape(person):
    person.qtbot.keyClick(person.window.windowHandle(), Qt.Key.Key_Escape)


def has_style(widget):
    """Return True if a widget looks wrong without a style sheet; docks have buttons of Qt that are never shown."""
    kinds = QLabel | QAbstractButton | QAbstractItemView | QLineEdit | QMenu | QTabBar
    return isinstance(widget, kinds) and not widget.objectName().startswith("qt_dockwidget")


def styled(widget, theme):
    """Return True if a widget or one around it has the style sheet of a theme."""
    while widget is not None and theme.panel not in widget.styleSheet():
        widget = widget.parentWidget()
    return widget is not None


def recover(person):
    """Acknowledge the fault and wait until commands are accepted again."""
    person.until(lambda: person.state is ServoState.FAULT and not person.controller.servo.busy)
    person.click(person.window.status_bar.acknowledge_button)
    person.until(lambda: person.state is ServoState.READY and not person.controller.servo.view.refusal)


def test_a_stop_is_no_fault_and_commands_are_refused_for_a_while(person):
    """It has a word of its own, one button clears it, and the lock that goes on is counted down."""
    window, servo = person.window, person.controller.servo
    bar = window.status_bar
    servo.stop_lock = 3600.0
    person.connect()
    person.record(600.0)
    person.until(lambda: window.record.live.count > 10)
    escape(person)
    person.until(lambda: bar.state.text() == "STOPPED" and not servo.busy)
    assert servo.stop_latency is not None
    assert servo.view.kind == "stopped"
    assert "motor is off; locked for another 3" in bar.fault.text()
    assert person.controller.journal.unseen == []
    assert not window.status_line.badge.isVisible()
    assert bar.acknowledge_button.text() == "Ready again"
    person.controller.recording.record_paper_set()
    assert person.state is ServoState.FAULT
    person.click(bar.acknowledge_button)
    person.until(lambda: bar.state.text() == "READY")
    assert bar.fault.text().startswith("Locked for another 3")
    assert not bar.acknowledge_button.isVisible()
    person.controller.recording.record_paper_set()
    person.until(lambda: "emergency stop" in person.message.lower())
    assert person.state is ServoState.READY
    assert not servo.busy
    window.close()
    assert not window.isVisible(), "at rest closing asks nothing"


def test_a_stop_is_one_where_the_motor_might_be_on(person):
    """While it connects, before a run and before a torque; by the button at rest."""
    controller, servo = person.controller, person.controller.servo
    servo.stop_lock = 0.2
    controller.queue.countdown.seconds = 60.0

    def begin_run():
        person.record(600.0)
        person.until(lambda: controller.queue.active)

    def press(person):
        person.click(person.window.status_bar.stop_button)

    for doubt, stop in (
        (servo.connect_servo, escape),
        (begin_run, escape),
        (controller.placing.hold, escape),
        (bool, press),
    ):
        doubt()
        stop(person)
        person.until(lambda: servo.view.word == "STOPPED" and not servo.busy)
        assert not controller.queue.active
        recover(person)


@pytest.mark.exhaustive("the two ways of a run, to its start and back to 0")
@pytest.mark.parametrize("phase", [Phase.APPROACH, Phase.RETURN])
def test_a_stop_on_the_way_of_a_run(person, phase):
    controller, servo = person.controller, person.controller.servo
    controller.connecting.choose_servo("simulated:mx106?speed=0.2")  # short phases last long enough to be seen
    person.connect()
    missed = Phase.RUN if phase is Phase.APPROACH else None

    def there():
        # The phase is shown before the motor is on.
        return servo.view.phase is phase and servo.view.kind == "moving"

    # On a busy machine a short phase passes unseen.
    while not there():
        person.record(0.8 if phase is Phase.RETURN else 20.0)
        person.until(lambda: there() or servo.view.phase is missed or not controller.queue.active)
        if not there():
            controller.queue.abort()
            person.until(lambda: person.state is ServoState.READY and not servo.busy and not controller.queue.active)
    escape(person)
    person.until(lambda: servo.view.word == "STOPPED" and servo.stop_latency is not None and not servo.busy)


def test_units(whole, session):
    def fields():
        found = [w for page in window.pages for w in page.inspector.findChildren(QAbstractSpinBox)]
        return [*found, *(w for page in window.pages for w in page.findChildren(QAbstractSpinBox))]

    window = whole.window
    whole.open(session)
    plain = {"Position gain", "Evaluations", "Repeats", "Seed"}
    for field in fields():
        name = field.accessibleName()
        dimensionless = name in plain or "gain" in name.lower() or field.property("dimensionless")
        assert dimensionless or field.suffix().strip() or field.specialValueText(), f"{name} shows no unit"
    for unit in (DEGREES, RADIANS):
        action = next(a for _, a in window.menus.everything() if a.text() == f"Angles in {unit.name}")
        action.trigger()
        assert unit.symbol in window.record.plots.position.axes["left"].labelText
        window.show_task(COMPARE)
        assert unit.symbol in window.compare.plots.charts[0].axes["left"].labelText
        window.show_task(RECORD)


def test_palette(whole):
    window = whole.window
    window.activateWindow()
    whole.until(window.isActiveWindow)
    shown = []

    def look():
        palette = QApplication.activeModalWidget()
        shown.extend(palette.texts())
        palette.field.setText("zzzzqqqq")
        assert palette.texts() == []
        palette.field.setText("dark them")
        assert palette.texts()[0].endswith("Dark theme")
        whole.qtbot.keyClick(palette.field, Qt.Key.Key_Return)

    QTimer.singleShot(200, look)
    whole.qtbot.keyClick(window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    everything = [action for _, action in window.menus.everything()]
    in_menus = {
        action
        for menu in window.menuBar().findChildren(QMenu)
        for action in menu.actions()
        if not action.isSeparator() and action.menu() is None
    }
    assert in_menus <= set(everything), "every action of the menus can be found"
    plain = [action.text().split("\t")[0].replace("&", "").rstrip("…") for action in everything]
    assert [text.rpartition(" › ")[2] for text in shown] == plain
    keys = [a.shortcut().toString() for a in window.findChildren(QAction) if not a.shortcut().isEmpty()]
    assert len(keys) == len(set(keys)), sorted(keys)
    plot, dark = window.record.plots.position, load_theme("dark").plot.lower()
    whole.until(lambda: plot.backgroundBrush().color().name() == dark)


@pytest.mark.parametrize(
    "name", [THEMES[1], pytest.param(THEMES[0], marks=pytest.mark.exhaustive("and back to the other theme"))]
)
def test_theme(whole, session, name):
    whole.open(session)
    window, theme = whole.window, load_theme(name)
    window.appearance.choose(name)
    own = (theme.panel.lower(), theme.window.lower())
    whole.until(lambda: window.grab().toImage().pixelColor(4, 40).name() in own)
    for number, page in enumerate(window.pages):
        window.show_task(number)  # until then it keeps its colours, and so do its parts
        for segments in page.findChildren(Segments):
            for place in range(len(segments.buttons)):
                segments.choose(place)
        for view in page.findChildren(type(window.record.plots.position)):
            assert view.backgroundBrush().color().name() == theme.plot.lower(), view.accessibleName()
    window.show_log()  # beside the session, under tabs that Qt creates for both
    window.help.show()
    dialogs = []

    def look():
        dialogs.append(styled(QApplication.activeModalWidget(), theme))
        QApplication.activeModalWidget().reject()

    for show in (window.show_preferences, window.show_palette, window.help.show_about):
        QTimer.singleShot(0, look)
        show()
    assert dialogs == [True] * 3
    whole.until(lambda: all(styled(part, theme) for part in window.findChildren(QWidget) if has_style(part)))


def test_faults(person):
    window, journal = person.window, person.controller.journal
    badge = window.status_line.badge
    assert not badge.isVisible()
    person.connect()
    next(child for child in multiprocessing.active_children() if child.name == "recorder").kill()
    person.until(lambda: badge.isVisible())
    assert badge.text() == "1 fault"
    assert window.status_bar.state.text() == "FAULT"
    assert window.status_bar.acknowledge_button.text() == "Acknowledge"
    lit = badge.property("lit")
    person.until(lambda: badge.property("lit") != lit)
    person.click(window.status_bar.acknowledge_button)
    assert badge.isVisible(), "acknowledging is not looking"
    person.until(lambda: person.state is not ServoState.FAULT)
    assert not badge._timer.isActive(), "the fault is acknowledged"
    for number in range(60):
        journal.add("info", f"later line {number}")
    window.show_task(EXPORT)  # where the session is folded
    person.click(badge)
    assert not badge.isVisible()
    assert window.log.isVisible()
    (fault,) = [entry for entry in journal.entries if entry.level == "fault"]
    assert fault.text.startswith("The recorder's process ended")
    table, row = window.log.table, journal.entries.index(fault)
    assert [index.row() for index in table.selectionModel().selectedRows()] == [row]
    person.until(lambda: table.viewport().rect().contains(table.visualRect(table.model().index(row, 2)).center()))
    assert table.viewport().height() >= 4 * table.rowHeight(row)


def test_esc_at_rest_closes_what_is_in_front_and_stops_nothing(person):
    window, servo = person.window, person.controller.servo
    assert servo.stop_lock >= 5.0
    escape(person)
    assert (person.state, person.message) == (ServoState.DISCONNECTED, ""), "there is nothing to say"
    person.connect()
    escape(person)
    menu = window.menuBar().actions()[0].menu()
    QTimer.singleShot(50, lambda: person.qtbot.keyClick(QApplication.activePopupWidget(), Qt.Key.Key_Escape))
    menu.exec(window.mapToGlobal(window.rect().center()))
    assert not menu.isVisible()
    QTimer.singleShot(50, lambda: person.qtbot.keyClick(QApplication.activeModalWidget(), Qt.Key.Key_Escape))
    assert QDialog(window).exec() == QDialog.DialogCode.Rejected
    said = [entry.text for entry in person.controller.journal.entries if entry.cause]
    assert said == ["Stop: the motor is already off"] * 3
    assert (person.state, servo.stop_latency, servo.locked_for) == (ServoState.READY, None, 0.0)
    assert person.controller.journal.unseen == []


def test_bad_state(qapp, tmp_path, monkeypatch):
    """Wrong values and a wrong layout; what fits is taken over."""
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    wrong = {"theme": 3, "angle_unit": "degrees", "recent": "nothing", "layout": "bm8gbGF5b3V0", "geometry": "bm8="}
    (tmp_path / NAME).write_text(json.dumps(wrong), "utf-8")
    controller = Controller()
    window = make_window(controller)
    window.show()
    text = "\n".join(window.messages.texts)
    assert "Invalid settings were reset: theme, recent" in text
    assert "layout does not fit" in text
    assert controller.angle_unit is DEGREES
    assert window.session.isVisible()
    window.leave()
    assert controller.settings.values.recent == []
    dispose(window, controller)


def answer(person, text, seen):
    """Press a button of the question that is about to come."""

    def press():
        box = QApplication.activeModalWidget()
        assert isinstance(box, QMessageBox)
        seen.append(box.informativeText())
        button = next(b for b in box.findChildren(QPushButton) if b.text() == text)
        person.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)

    QTimer.singleShot(100, press)


def test_closing(person, session):
    window, controller = person.window, person.controller
    person.open(session)
    person.connect()
    person.record(600.0)
    person.until(lambda: window.record.live.count > 10)
    window.identify.form.fields["trials"].setValue(1_000_000)
    settings = replace(window.identify.form.settings(), models=("m1",), command_path="off")
    controller.identifying.identify(settings)
    person.until(lambda: controller.fitting.latest is not None)
    seen = []
    answer(person, "Keep working", seen)
    window.close()
    assert window.isVisible()
    assert person.state is ServoState.ENABLED, "the servo was driven on while the question stood"
    assert controller.fitting.active
    answer(person, "Stop and close", seen)
    window.close()
    assert not window.isVisible()
    assert len(seen) == 2
    assert "recording" in seen[0]
    assert "identification" in seen[0]
    assert not controller.servo.busy
    assert not controller.fitting.active


def test_undo(person):
    window, controller = person.window, person.controller
    window.show_task(BENCH)
    field = next(f for f in window.findChildren(QDoubleSpinBox) if f.accessibleName() == "Load" and f.isVisible())
    before = controller.setup.bench.mass
    steps = controller.undo.count()
    for k in range(5):
        field.setValue(before + 0.1 * (k + 1))
    assert controller.undo.count() == steps + 1, "one drag is one step"
    undo = next(a for _, a in window.menus.everything() if a.text().startswith("Undo"))
    undo.trigger()
    assert controller.setup.bench.mass == pytest.approx(before)
    assert field.value() == pytest.approx(before)
    controller.undo.redo()
    assert controller.setup.bench.mass == pytest.approx(before + 0.5)
    window.show_task(RECORD)
    person.connect()
    person.record(0.4)
    steps = controller.undo.index()
    person.until(lambda: len(controller.library.runs) == 1 and person.state is ServoState.READY)
    assert controller.undo.index() == steps, "motion is no step"
    window.work.docks["session"].hide()
    person.until(lambda: controller.undo.index() == steps + 1)
    undo.trigger()
    assert window.session.isVisible()


SECOND = """
import sys
from pathlib import Path
from bench_gui.app import run_window
sys.exit(run_window(Path(sys.argv[1])))
"""


FIRST = """
import time
from PySide6.QtWidgets import QApplication
from bench_gui.shell.single import take_bell
app, rings = QApplication([]), []
bell = take_bell(None)
if bell is None:
    print("open already")
else:
    time.sleep(1.0)  # as long as a window takes to be made
    bell.rang.connect(rings.append)
    bell.rang.connect(lambda: len(rings) < 2 or app.quit())
    app.exec()
    print("it is open")
"""


def test_files_second_launch(person, session, tmp_path):
    from bench_gui.shell.single import Doorbell

    doorbell = Doorbell()
    doorbell.rang.connect(person.window.come_forward)
    done = subprocess.Popen(
        [sys.executable, "-c", SECOND, str(session)],
        env={**os.environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        person.until(lambda: person.controller.library.path == Path(session))
        out, _ = done.communicate(timeout=600)
        assert done.returncode == 0
        assert "open already" in out
    finally:
        done.kill()
        doorbell.close()


@pytest.mark.exhaustive("a race of three programs")
def test_of_several_starts_at_once_one_opens(tmp_path):
    place = {**os.environ, HOME_VARIABLE: str(tmp_path)}
    starts = [
        subprocess.Popen([sys.executable, "-c", FIRST], env=place, stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    try:
        # Whoever hands over ends; the first stays open until it has been rung at by both.
        said = [start.communicate(timeout=600)[0] for start in starts]
        assert sorted(said) == ["it is open\n", "open already\n", "open already\n"]
    finally:
        for start in starts:
            start.kill()


def test_hygiene(whole, session, qtbot):
    """What every widget owes: a name and a tip; the pages fit small and large windows; an empty page says what to do
    about it."""
    window = whole.window
    whole.controller.library.close()
    window.compare.tabs.choose(OVERLAY)
    window.identify.tabs.show_part(window.identify.overlay)
    for page in window.pages:
        if page in (window.record, window.bench, window.explore):  # they need no recordings
            continue
        window.show_task(window.pages.index(page))
        if page is not window.export:  # the catalogue has models for it
            assert page.is_empty
            assert page.findChildren(QPushButton)[-1].isEnabled()
    whole.open(session)
    check_names(window)
    for size in ((1280, 720), (1920, 1080)):
        window.resize(*size)
        for number in range(len(TASKS)):
            window.show_task(number)
            qtbot.wait(1)
            assert (window.width(), window.height()) == size
            for button in window.findChildren(QAbstractButton):
                if button.isVisible() and not button.visibleRegion().isEmpty():
                    needed = button.minimumSizeHint()
                    assert button.width() >= needed.width(), button.text()
                    assert button.height() >= needed.height(), button.text()
    assert window.minimumSizeHint().width() <= 1280
    assert window.minimumSizeHint().height() <= 720
