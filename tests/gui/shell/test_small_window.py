"""The window on small screens: STOP and the state are on them, the session folds, notices cover no button."""

import math
import os
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRect, Qt, QTimer
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QAbstractButton, QApplication, QScrollArea, QTableView, QToolButton, QTreeWidget

from bench_gui.app import _scale_with_text
from bench_gui.place.view import PlaceView
from bench_gui.settings import NAME, TEXT_SIZE, Settings, load
from bench_gui.shell.tasks import BENCH, COMPARE, EXPLORE, EXPORT, IDENTIFY, PLACE, RECORD, TASKS
from bench_gui.state.journal import SERVO
from bench_gui.state.servo_link import ServoView
from bench_gui.widgets.notices import MOST, READ_WITHIN
from core.identification.choice.recommendation import VALIDATION
from core.identification.coverage.findings import FREEZE, Diagnosis, Finding
from core.identification.verdict import Answer, Step, Verdict
from drivers.recorder import Phase
from drivers.recorder.link import EMERGENCY
from drivers.servo import CUT_THE_SUPPLY, ServoState
from sessions.folders import HOME_VARIABLE, home

pytest_plugins = ["tests.gui.whole"]
SCREENS = {"1366×768 at 125 %": (1092, 614), "1920×1080 at 200 %": (960, 540)}
LONG = (
    f"{CUT_THE_SUPPLY}: motor-off not confirmed (/dev/pts/1: there is no such port; plug the adapter in, or choose one)"
)
VIEWS = (
    ServoView(),
    ServoView(state=ServoState.READY, title="Dynamixel XL430-W250", supply_voltage=12.0, temperature=41.0),
    ServoView(
        state=ServoState.READY, title="Dynamixel XL430-W250", supply_voltage=12.0, temperature=41, locked_for=4.9
    ),
    ServoView(
        state=ServoState.ENABLED, phase=Phase.HOLD, title="Dynamixel XL430-W250", length=9, skipped=3, bus_errors=2
    ),
    ServoView(state=ServoState.FAULT, fault=EMERGENCY, locked_for=4.9),
    ServoView(state=ServoState.FAULT, fault=LONG, title="Dynamixel XL430-W250"),
)


@pytest.fixture
def window(whole):
    return whole.window


def rectangle(window, widget):
    return QRect(widget.mapTo(window, QPoint(0, 0)), widget.size())


@pytest.mark.parametrize("screen", SCREENS)
def test_stop_and_state_are_on_the_screen_on_every_page_in_every_state(qtbot, window, screen):
    size = SCREENS[screen]
    window.resize(*size)
    bar = window.status_bar
    for number in range(len(TASKS)):
        window.show_task(number)
        qtbot.wait(1)
        assert (window.width(), window.height()) == size, TASKS[number][0]
    for view in VIEWS:
        bar.show_view(view, 200.0)
        qtbot.wait(1)
        assert (window.width(), window.height()) == size, view.word
        shown = [w for w in (bar.stop_button, bar.state, bar.connect_button, bar.acknowledge_button) if w.isVisible()]
        for widget in shown:
            assert window.rect().contains(rectangle(window, widget)), view.word
            assert widget.width() >= widget.minimumSizeHint().width(), widget.text()
    assert bar.fault.text().startswith(CUT_THE_SUPPLY)
    assert bar.fault.heightForWidth(bar.fault.width()) <= bar.height()


def test_the_session_folds_on_pages_that_do_not_use_it_and_stays_as_a_person_leaves_it(qtbot, window):
    window.resize(1280, 720)
    work, session = window.work, window.work.docks["session"]

    def folded_on(number):
        window.show_task(number)
        qtbot.wait(1)
        return session.widget().height() == 0 and session.height() <= 34

    assert [folded_on(n) for n in (BENCH, RECORD, IDENTIFY, COMPARE, EXPORT)] == [True, False, True, True, True]
    assert work.is_folded("session")
    fold = next(b for b in session.titleBarWidget().findChildren(QToolButton) if b.accessibleName() == "Fold Session")
    qtbot.mouseClick(window.session.title, Qt.MouseButton.LeftButton)
    assert [folded_on(n) for n in (EXPORT, BENCH, RECORD, EXPORT)] == [False, True, False, False]
    assert window.controller.settings.folded == {"Export": "no"}
    fold.click()
    assert folded_on(EXPORT)


def test_the_place_page_fits_into_a_small_window_with_a_long_instruction(qtbot, window):
    window.resize(1280, 720)
    window.show_task(PLACE)
    view = window.findChild(PlaceView)
    view.instruction.setText("Move the pendulum down, towards hanging, and let go, until it falls. " * 3)
    qtbot.wait(50)
    assert holder(window, view).verticalScrollBar().maximum() == 0


def holder(window, page):
    """Return the scroll area of a page."""
    return next(area for area in window.findChildren(QScrollArea) if area.widget() is page)


@pytest.mark.parametrize("screen", SCREENS)
def test_no_page_scrolls_sideways_on_a_small_screen(qtbot, window, screen):
    window.resize(1920, 1080)
    window.show_task(IDENTIFY)
    window.identify.show_empty(False)
    lists = window.identify.earlier, window.identify.earlier.other
    for one in lists:  # as with two results
        one.show()
    qtbot.wait(1)
    window.resize(*SCREENS[screen])
    for number, page in enumerate(window.pages):
        window.show_task(number)
        sideways = holder(window, page).horizontalScrollBar()
        qtbot.waitUntil(lambda bar=sideways: bar.maximum() == 0)
    for one in lists:
        one.hide()
    window.identify.show_empty(True)


@pytest.mark.parametrize("screen", [*SCREENS.values(), (1280, 720)])
def test_the_answer_of_an_identification_is_whole(qtbot, window, screen):
    """Its page scrolls instead, before an identification too."""
    window.resize(*screen)
    window.show_task(IDENTIFY)
    page, answer = window.identify, window.identify.answer
    answer.forget()
    page.show_empty(False)
    card = answer.card

    def whole():
        hold = card.heightForWidth(card.width()) <= card.height()
        return hold and page.tabs.y() > answer.geometry().bottom()

    qtbot.waitUntil(whole)
    verdict = Verdict(friction="m6", error=0.0328, held_out=2, by=VALIDATION)
    diagnosis = Diagnosis(
        friction="m6", findings=(), hold_out="", rounding=3.8e-4, noise=math.nan, repeatability=math.nan
    )
    text = "Freeze one that you know, or record other loads and gains, because these runs determine only the combined "
    text += "effect of k_t, R and K_e^q."
    step = Step(action=FREEZE, subject="R=3.0", label="Freeze external load-dependent friction at 0.01923", text=text)
    warnings = (Finding(kind="gap", severity="warning", text="a", remedy="b"),) * 11
    answer_ = Answer(verdict=replace(verdict, diagnosis=diagnosis), warnings=warnings, step=step)
    card.show_answer(answer_, step, "")
    qtbot.waitUntil(whole)
    for one in (card.step_button, card.warnings_button, card.report_button, card.use_button):
        assert one.width() >= one.sizeHint().width(), one.text()
        assert card.rect().contains(QRect(one.mapTo(card, QPoint(0, 0)), one.size())), one.text()
    card.show_plan("Fits M1 to M6.")
    page.show_empty(True)


def test_wrapped_text_above_charts_makes_no_page_scroll(qtbot, window):
    window.show_task(EXPLORE)
    explore = window.explore
    explore.show_tab(explore.learning)
    explore.learning.status.setText("The largest error of the last iteration is too large. " * 5)
    window.resize(1920, 1080)
    qtbot.waitUntil(lambda: explore.learning.plots.height() > 700)
    window.resize(1280, 720)
    downwards = holder(window, explore).verticalScrollBar()
    qtbot.waitUntil(lambda: downwards.maximum() == 0)


def say(window, *arguments, **more):
    window.controller.journal.say(*arguments, **more)


@pytest.fixture
def notices(qtbot, window):
    window.show_task(RECORD)
    window.resize(1280, 720)
    # A page that was looked at before may still compute: its button goes when that is done.
    qtbot.waitUntil(lambda: window.status_line.list_button.text() == "Work")
    yield window.messages
    for notice in list(window.messages.notices):
        notice.close_button.click()
    assert not window.messages.isVisible()


def test_a_notice_moves_nothing_and_covers_no_button_of_the_frame(qtbot, window, notices):
    others = [b for b in window.findChildren(QAbstractButton) if b.isVisible() and not window.stack.isAncestorOf(b)]
    before = [rectangle(window, b) for b in others]
    for number in range(MOST + 2):
        say(window, "error", f"the file {number} cannot be written; choose another folder")
    qtbot.wait(1)
    assert len(notices.texts) == MOST
    assert [rectangle(window, b) for b in others] == before
    covered = rectangle(window, notices)
    assert rectangle(window, window.stack).contains(covered)
    assert not any(covered.intersects(place) for place in before)
    assert not covered.intersects(rectangle(window, window.status_bar))
    crosses = [rectangle(window, notice.close_button) for notice in notices.notices]
    assert not any(one.intersects(other) for one in crosses for other in crosses if one != other)
    window.resize(1000, 600)
    qtbot.wait(1)
    assert rectangle(window, window.stack).contains(rectangle(window, notices))


def test_a_notice_goes_when_its_cause_goes(window, notices):
    say(window, "error", "cannot record yet", cause=SERVO)
    say(window, "error", "cannot hold a torque yet", cause=SERVO)
    say(window, "warning", "the settings were damaged")
    assert notices.texts == ["Cannot hold a torque yet", "The settings were damaged"], "a cause has one notice"
    window.controller.servo.changed.emit(ServoView(state=ServoState.ENABLED))
    assert notices.texts == ["The settings were damaged"]
    window.controller.servo.changed.emit(ServoView())


def test_a_notice_stays_on_its_page_and_ends_after_it_was_seen(window, notices):
    say(window, "error", "no such motion")
    say(window, "error", "the model cannot be written", task="Export")
    (here, there) = notices.notices
    assert (notices.texts, here.timer.isActive(), there.timer.isActive()) == (["No such motion"], True, False)
    window.show_task(EXPORT)
    assert (notices.texts, there.isVisible(), here.isVisible()) == (["The model cannot be written"], True, False)
    assert there.timer.interval() == READ_WITHIN
    window.show_start()
    assert not notices.isVisible()
    there.timer.timeout.emit()
    assert notices.notices == [here]
    say(window, "error", "no answer from the servo", cause=SERVO)
    assert not notices.notices[-1].timer.isActive(), "it ends with its cause"
    window.show_task(RECORD)
    assert notices.texts == ["No such motion"]


def test_the_notices_of_a_session_go_with_it(qtbot, window, notices, tmp_path):
    library = window.controller.library
    with qtbot.waitSignal(library.opened):
        library.create(tmp_path / "first")
    say(window, "error", "the annotation was not saved")
    say(window, "error", "no answer from the servo", cause=SERVO)
    library.close()
    assert notices.texts == ["No answer from the servo"]


def test_a_notice_opens_the_file_it_names(qtbot, window, notices, monkeypatch):
    opened = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toLocalFile()) or True)
    say(window, "info", "Report written to /lab/report.html", path=Path("/lab/report.html"))
    qtbot.mouseClick(notices.notices[0].open_button, Qt.MouseButton.LeftButton)
    assert opened == ["/lab/report.html"]


def test_undo_reaches_the_window_past_a_field_with_nothing_to_undo(qtbot, window):
    setup, field = window.controller.setup, window.record.form.field("duration")
    window.show_task(RECORD)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    before = setup.bench.mass
    setup.edit_bench("load", mass=before + 0.1)
    field.setFocus()
    field.setValue(field.value())
    qtbot.keyClick(field, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert setup.bench.mass == pytest.approx(before)
    field.selectAll()
    qtbot.keyClicks(field, "7")
    setup.edit_bench("load", mass=before + 0.2)
    qtbot.keyClick(field, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert setup.bench.mass == pytest.approx(before + 0.2), "the field takes back its own edit"
    assert "7" not in field.text()


def test_preferences_repeat_the_menus_and_are_remembered(qtbot, window):
    settings, view = window.controller.settings, window.menus
    done = []

    def change():
        dialog = QApplication.activeModalWidget()
        dialog.units.setCurrentIndex(1)
        dialog.theme.setCurrentIndex(2)
        dialog.countdown.setValue(5.0)
        dialog.key.setKeySequence("F7")
        dialog.key.editingFinished.emit()
        keys = {
            item.text(0): item.text(1)
            for item in dialog.findChild(QTreeWidget).findItems("", Qt.MatchFlag.MatchContains)
        }
        done.append(keys)
        dialog.reject()

    QTimer.singleShot(50, change)
    window.show_preferences()
    checked = {action.text() for _, action in view.everything() if action.isChecked()}
    assert {"Angles in degrees", "Dark theme"} <= checked
    assert (settings.angle_unit, settings.theme, settings.countdown) == ("degrees", "dark", 5.0)
    assert settings.capture_key == "F7"
    assert window.controller.queue.countdown._seconds == {True: 0.0, False: 5.0}, "that of a simulated servo stays"
    (keys,) = done
    assert (keys["Find a command"], keys["Emergency stop"], keys["Preferences"]) == ("Ctrl+K", "Esc", "Ctrl+,")


def test_the_text_size_scales_the_window_from_the_next_start(window, monkeypatch):
    settings = window.controller.settings
    settings.set("text_size", 18)
    settings.save()
    assert load(home() / NAME)[0].text_size == 18
    monkeypatch.setenv("QT_SCALE_FACTOR", "2")
    _scale_with_text()
    assert float(os.environ["QT_SCALE_FACTOR"]) == pytest.approx(2 * 18 / TEXT_SIZE, abs=1e-3)
    settings.set("text_size", 99)
    settings.save()
    assert load(home() / NAME)[0].text_size == TEXT_SIZE, "no such size"


def test_an_older_state_of_the_settings_never_replaces_a_newer_one(tmp_path, monkeypatch):
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    waiting = []
    settings = Settings(waiting.append)
    settings.set("text_size", 16)
    settings._save_later()
    settings.set("text_size", 18)
    settings.save()
    waiting.pop()()
    assert load(home() / NAME)[0].text_size == 18


def titles_cut(view):
    """Titles of a table that are cut although the table has free width."""
    header = view.horizontalHeader()
    shown = [place for place in range(header.count()) if not header.isSectionHidden(place)]
    narrow = {place: header.sectionSizeHint(place) - header.sectionSize(place) for place in shown}
    room = header.viewport().width() - header.length()
    if header.stretchLastSection():
        room -= narrow[shown[-1]]
    return [view.model().headerData(p, Qt.Orientation.Horizontal) for p, lack in narrow.items() if 0 < lack <= room]


@pytest.fixture
def opened(whole, identified):
    whole.open(identified)
    whole.until(lambda: not whole.controller.library.loading)
    return whole.window


def test_no_title_of_a_table_is_cut_while_there_is_room(qtbot, opened):
    opened.resize(1366, 768)
    seen = set()
    for number, page in enumerate(opened.pages):
        opened.show_task(number)
        tabs = getattr(page, "tabs", None)
        segments = getattr(tabs, "segments", tabs)
        for place in range(1 if segments is None else len(segments.buttons)):
            if segments is not None:
                segments.choose(place)
            qtbot.wait(1)
            for view in opened.findChildren(QTableView):
                if view.isVisible():
                    seen.add(view.accessibleName())
                    assert not titles_cut(view), (type(page).__name__, place, view.accessibleName())
    assert len(seen) > 4, seen
