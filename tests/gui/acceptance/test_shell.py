"""Acceptance of what surrounds the tasks: stop, faults, settings, closing, undo, palette, themes, a second start.

Each function is named after its row of the window's acceptance table.
"""

import json
import multiprocessing
import os
import subprocess
import sys
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
from bench_gui.controller import Controller
from bench_gui.headless.places import HOME_VARIABLE
from bench_gui.settings import NAME
from bench_gui.shell.command_palette import CommandPalette
from bench_gui.shell.tasks import BENCH, COMPARE, RECORD, TASKS
from bench_gui.theme import THEMES, load_theme
from bench_gui.widgets.tabs import Segments
from core.units import DEGREES, RADIANS
from drivers.recorder import Phase
from drivers.servo import ServoState
from tests.gui.conftest import Person, dispose
from tests.gui.test_window import check_names


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
    person.until(lambda: person.state is ServoState.READY and person.controller.servo.locked_for == 0)


def test_e_stop(person):
    window, servo = person.window, person.controller.servo
    for number in range(len(TASKS)):
        window.show_task(number)
        assert window.status_bar.stop_button.isVisible()
    window.show_task(RECORD)
    escape(person)
    assert person.state is ServoState.DISCONNECTED
    assert servo.stop_lock >= 5.0
    servo.stop_lock = 0.0  # four stops in a row, each with a new run
    person.controller.connecting.choose_servo("simulated:mx106?speed=0.2")  # short phases last long enough to be seen
    person.connect()

    def stop():
        person.until(lambda: window.status_bar.state.text() == "STOPPED")
        window.record.form.field("duration").setValue(0.5)
        person.controller.recording.record_paper_set()
        assert person.state is ServoState.FAULT
        assert not person.controller.servo.busy

    def drive(state):
        """Begin runs until one is seen in a phase: on a busy machine a short one passes unseen."""
        queue = person.controller.queue

        def seen():
            return servo.view.phase is state and servo.view.kind == "moving"

        def missed():
            return state is Phase.APPROACH and servo.view.phase is Phase.RUN

        while not seen():
            person.record(0.8 if state is Phase.RETURN else 20.0)
            person.until(lambda: seen() or missed() or not queue.active)
            if not seen():
                queue.abort()
                person.until(lambda: person.state is ServoState.READY and not servo.busy and not queue.active)

    for state in ("ready", Phase.APPROACH, Phase.RUN, Phase.RETURN):
        if state != "ready":
            drive(state)
        escape(person) if state != "ready" else person.click(window.status_bar.stop_button)
        person.until(lambda: person.state is ServoState.FAULT and servo.stop_latency is not None)
        person.until(lambda: not servo.busy)
        stop()
        person.click(window.status_bar.acknowledge_button)
        person.until(lambda: person.state is ServoState.READY)


def test_after_an_emergency_stop_commands_are_refused_for_a_while(person):
    """Even when it was acknowledged."""
    servo = person.controller.servo
    servo.stop_lock = 3600.0
    person.connect()
    person.click(person.window.status_bar.stop_button)
    person.until(lambda: person.state is ServoState.FAULT and not servo.busy)
    person.click(person.window.status_bar.acknowledge_button)
    person.until(lambda: person.state is ServoState.READY)
    assert servo.locked_for > 0.0
    person.controller.recording.record_paper_set()
    person.until(lambda: "emergency stop" in person.message.lower())
    assert person.state is ServoState.READY
    assert not servo.busy


@pytest.mark.usefixtures("impatient")
def test_dead_gui_is_safe(person):
    person.connect()
    person.record(600.0)
    person.hang()
    person.until(lambda: person.state is ServoState.FAULT)
    # The state is in shared memory, its reason comes a moment later.
    person.until(lambda: "no sign of life" in person.window.status_bar.fault.text())
    assert person.controller.journal.unseen >= 1


@pytest.fixture(scope="class")
def every_page(qapp, tmp_path_factory):
    """A window with all its pages made, for tests that leave no servo connected and nothing open but a session."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(HOME_VARIABLE, str(tmp_path_factory.mktemp("home")))
        controller = Controller()
        window = make_window(controller, "light")
        window.show()
        assert window.pages
        yield window
        window.leave()
        dispose(window, controller)


@pytest.fixture
def whole(qtbot, every_page):
    return Person(qtbot, every_page)


class TestEveryPage:
    def test_units(self, whole, session):
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
        files = {path: path.read_bytes() for path in Path(session).rglob("*") if path.is_file()}
        setup = whole.controller.setup
        bench = setup.bench
        form = window.record.form.trajectory()
        for unit in (DEGREES, RADIANS, DEGREES):
            action = next(a for _, a in window.menus.everything() if a.text() == f"Angles in {unit.name}")
            action.trigger()
            assert setup.bench == bench
            assert window.record.form.trajectory().parameters.numbers() == form.parameters.numbers()
            assert unit.symbol in window.record.plots.position.axes["left"].labelText
            window.show_task(COMPARE)
            assert unit.symbol in window.compare.plots.overlay.axes["left"].labelText
            window.show_task(RECORD)
        assert {path: path.read_bytes() for path in Path(session).rglob("*") if path.is_file()} == files

    def test_palette(self, whole):
        window = whole.window
        window.activateWindow()
        whole.until(window.isActiveWindow)
        assert window.pages  # as they are some moments after the start
        QTimer.singleShot(200, lambda: QApplication.activeModalWidget().reject())
        shown = []
        original = CommandPalette.exec
        try:
            CommandPalette.exec = lambda dialog: (shown.append(dialog.texts()), original(dialog))[1]
            whole.qtbot.keyClick(window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
            whole.until(lambda: bool(shown))
        finally:
            CommandPalette.exec = original
        everything = [action for _, action in window.menus.everything()]
        assert len(everything) > 25
        in_menus = [
            action
            for menu in window.menuBar().findChildren(type(window.menus.menu("&File")))
            for action in menu.actions()
            if not action.isSeparator() and action.menu() is None
        ]
        assert set(in_menus) <= set(everything), "every action of the menus can be found"
        names = "\n".join(shown[0])
        for action in everything:
            assert action.text().split("\t")[0].replace("&", "").rstrip("…") in names
        keys = [a.shortcut().toString() for a in window.findChildren(QAction) if not a.shortcut().isEmpty()]
        assert len(keys) == len(set(keys)), sorted(keys)
        palette = CommandPalette(window.menus, window.record)
        palette.field.setText("dark them")
        assert palette.texts()[0].endswith("Dark theme")
        palette.field.setText("zzzzqqqq")
        assert palette.texts() == []
        palette.field.setText("dark theme")
        whole.qtbot.keyClick(palette.field, Qt.Key.Key_Return)
        plot, dark = window.record.plots.position, load_theme("dark").plot.lower()
        whole.until(lambda: plot.backgroundBrush().color().name() == dark)

    @pytest.mark.parametrize("name", [*THEMES, THEMES[0]])
    def test_theme(self, whole, session, name):
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

    def test_help(self, whole):
        window = whole.window
        for number, page in enumerate(window.pages):
            window.show_task(number)
            window.help.show()
            assert window.help.window.current == page.help_page
            assert len(window.help.window.page.toPlainText()) > 200
        window.help.window.search.setText("stribeck")
        assert 0 < window.help.window.contents.count() < 8
        assert isinstance(window.help.window, QDialog) is False, "the help never blocks the work"


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
    person.click(badge)
    assert not badge.isVisible()
    assert window.log.isVisible()
    (fault,) = [entry.text for entry in journal.entries if entry.level == "fault"]
    assert fault.startswith("The recorder's process ended")


def test_a_stop_is_no_fault(person):
    """It has a word of its own, one button clears it, and the lock that goes on is counted down."""
    window, servo = person.window, person.controller.servo
    bar = window.status_bar
    servo.stop_lock = 3600.0
    person.connect()
    person.record(600.0)
    person.until(lambda: window.record.live.count > 10)
    escape(person)
    person.until(lambda: bar.state.text() == "STOPPED" and not servo.busy)
    assert servo.view.kind == "stopped"
    assert "motor is off; locked for another 3" in bar.fault.text()
    assert person.controller.journal.unseen == 0
    assert not window.status_line.badge.isVisible()
    assert bar.acknowledge_button.text() == "Ready again"
    person.click(bar.acknowledge_button)
    person.until(lambda: bar.state.text() == "READY")
    assert bar.fault.text().startswith("Locked for another 3")
    assert not bar.acknowledge_button.isVisible()


@pytest.mark.parametrize("front", ["menu", "dialog", "nothing"])
def test_esc_at_rest_closes_what_is_in_front_and_stops_nothing(person, front):
    window, servo = person.window, person.controller.servo
    escape(person)
    assert person.message == "", "without a servo there is nothing to say"
    person.connect()
    if front == "menu":
        menu = window.menuBar().actions()[0].menu()
        QTimer.singleShot(50, lambda: person.qtbot.keyClick(QApplication.activePopupWidget(), Qt.Key.Key_Escape))
        menu.exec(window.mapToGlobal(window.rect().center()))
    elif front == "dialog":
        QTimer.singleShot(50, lambda: person.qtbot.keyClick(QApplication.activeModalWidget(), Qt.Key.Key_Escape))
        assert QDialog(window).exec() == QDialog.DialogCode.Rejected
    else:
        escape(person)
    assert person.message == "Stop: the motor is already off"
    assert person.state is ServoState.READY
    assert servo.stop_latency is None
    assert servo.locked_for == 0.0
    assert person.controller.journal.unseen == 0


@pytest.mark.parametrize("doubt", ["connecting", "a run is about to begin", "a torque is about to be held"])
def test_esc_is_a_full_stop_where_the_motor_might_be_on(person, doubt):
    controller, servo = person.controller, person.controller.servo
    if doubt != "connecting":
        person.connect()
    else:
        person.click(person.window.status_bar.connect_button)
    if doubt == "a run is about to begin":
        controller.queue.countdown.seconds = 60.0
        person.record(600.0)
        person.until(lambda: controller.queue.active)
    elif doubt == "a torque is about to be held":
        controller.placing.hold()
    escape(person)
    assert servo.locked_for > 0.0
    person.until(lambda: servo.view.word == "STOPPED")
    assert not controller.queue.active


@pytest.mark.parametrize("damage", ["truncated", "no settings", "wrong values", "wrong layout", "folder"])
def test_bad_state(qapp, tmp_path, monkeypatch, damage):
    home = tmp_path / "home"
    monkeypatch.setenv("SERVOBENCH_HOME", str(home))
    home.mkdir()
    good = {"theme": "dark", "angle_unit": "degrees", "layout": "", "recent": []}
    bad = {
        "truncated": json.dumps(good)[:17],
        "no settings": "[1, 2]",
        "wrong values": json.dumps({**good, "theme": 3, "recent": "nothing"}),
        "wrong layout": json.dumps({**good, "layout": "bm8gbGF5b3V0", "geometry": "bm8="}),
    }
    if damage == "folder":
        (home / NAME).mkdir()
    else:
        (home / NAME).write_text(bad[damage], "utf-8")
    controller = Controller()
    window = make_window(controller)
    window.show()
    text = "\n".join(window.messages.texts)
    assert "settings" in text.lower() or "layout" in text
    if damage.startswith("wrong"):
        assert controller.angle_unit is DEGREES, "what fits is taken over"
    assert window.session.isVisible()
    window.leave()
    assert controller.settings.values.recent == []
    dispose(window, controller)


def test_settings_are_remembered(qapp, tmp_path, monkeypatch):
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path))
    window = make_window(Controller())
    window.show()
    window.appearance.choose("dark")
    window.work.docks["session"].hide()
    window.leave()
    dispose(window, window.controller)
    again = make_window(Controller())
    again.show()
    assert again.controller.settings.theme == "dark"
    assert not again.session.isVisible()
    again.work.reset()
    assert again.session.isVisible()
    again.leave()
    dispose(again, again.controller)


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
    controller.identifying.identify(window.identify.form.settings())
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


def test_closing_at_rest_asks_nothing(person):
    person.connect()
    person.window.close()
    assert not person.window.isVisible()


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


TWICE = """
import sys
from PySide6.QtWidgets import QAbstractButton
from bench_gui.app import make_application, make_window
from bench_gui.controller import Controller
from bench_gui.shell.tasks import TASKS
app = make_application()
window = make_window(Controller(), "light")
window.resize(1280, 720)
window.show()
for number in range(len(TASKS)):
    window.show_task(number)
    app.processEvents()
    picture = window.grab()
    assert picture.devicePixelRatio() == 2.0
    assert (picture.width(), picture.height()) == (2560, 1440), picture.size()
    for button in window.findChildren(QAbstractButton):
        if button.isVisible() and not button.visibleRegion().isEmpty():
            needed = button.minimumSizeHint()
            assert button.width() >= needed.width() and button.height() >= needed.height(), button.text()
window.leave()
print("fine")
"""


def test_hygiene(person, session, qtbot, tmp_path):
    """What every widget owes: a name and a tip; the pages fit small and large windows, also at twice the pixels; an
    empty page says what to do about it."""
    window = person.window
    for page in window.pages:
        if page in (window.record, window.bench, window.explore):  # they need no recordings
            continue
        window.show_task(window.pages.index(page))
        if page is not window.export:  # the catalogue has models for it
            assert page.is_empty
            assert page.findChildren(QPushButton)[-1].isEnabled()
    person.open(session)
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
    environment = {**os.environ, "QT_SCALE_FACTOR": "2", "SERVOBENCH_HOME": str(tmp_path / "twice")}
    done = subprocess.run([sys.executable, "-c", TWICE], env=environment, capture_output=True, text=True, timeout=600)
    assert done.stdout.strip() == "fine", done.stderr
