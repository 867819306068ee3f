"""The guided tour: beside the work, on when the work goes on, never in the way of it."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtTest import QTest

from bench_gui.record.recording import Recording
from bench_gui.shell.tasks import BENCH, EXPORT, RECORD
from bench_gui.state.servo_link import ServoLink
from bench_gui.tour.steps import STEPS
from bench_gui.tour.tour import Tour
from bench_gui.tour.whereabouts import GAP, place_card
from drivers.servo import ServoState

pytest_plugins = ["tests.gui.whole"]
CONNECT, PENDULUM, RUN, SESSION, PLACING, IDENTIFYING, COMPARING, EXPORTING = range(8)


@pytest.fixture
def tour(whole):
    whole.window.show_tour()
    return whole.window.tour


def outlined(tour):
    """The rectangle within the outline, in the window's coordinates."""
    window = tour._window
    return QRect(tour.outline.mapTo(window, QPoint(0, 0)), tour.outline.size()) if tour.outline.isVisible() else None


def rectangle(window, widget):
    return QRect(widget.mapTo(window, QPoint(0, 0)), widget.size())


def begin_at(tour, number):
    while tour.number < number:
        tour.onwards()


def test_at_most_eight_steps_of_two_sentences():
    assert len(STEPS) <= 8
    for step in STEPS:
        assert step.text.count(". ") + 1 <= 2, step.title


def test_every_step_points_at_something(whole, tour):
    window = whole.window
    for number, step in enumerate(tour.steps):
        assert tour.number == number
        assert tour.card.isVisible()
        assert f"{number + 1} of {len(STEPS)}" == tour.card.place.text()
        for there in [window.rail.buttons[step.task]] if step.task is not None else []:
            assert tour.target() is there
            window.show_task(step.task)
        tour.follow()
        assert (tour.card.title.text(), tour.card.text.text()) == (step.title, step.text)
        target = tour.target()
        assert target is not None
        assert outlined(tour).intersects(rectangle(window, target))
        whole.click(tour.card.next_button)
    assert not tour.active
    assert "Guided tour" in whole.message


def test_it_goes_on_when_the_thing_is_done(person):
    controller, window = person.controller, person.window
    window.show_tour()
    tour = window.tour
    assert person.state is ServoState.DISCONNECTED, "the tour moves nothing by itself"
    person.connect()
    assert tour.number == PENDULUM
    window.show_task(BENCH)
    controller.setup.set_bench(mass=0.7)
    assert tour.number == RUN
    failed = SimpleNamespace(exit_status="abort", id="0001", samples=3, reason="")
    controller.queue.ended.emit(failed)
    assert tour.number == RUN
    window.show_task(RECORD)
    person.record(0.3)
    person.until(lambda: tour.number == SESSION)


def test_back_and_skip(whole, tour):
    tour.onwards()
    whole.click(tour.card.back_button)
    assert tour.number == CONNECT
    assert not tour.card.back_button.isEnabled()
    button = whole.window.status_bar.connect_button
    tour.follow()
    edge = button.mapTo(whole.window, QPoint(1, button.height() // 2))
    assert whole.window.childAt(edge) is button, "the mouse goes through the outline"
    whole.click(tour.card.skip_button)
    assert not tour.active
    assert not tour.card.isVisible()
    assert not tour.outline.isVisible()
    whole.window.show_tour()
    assert tour.number == CONNECT
    assert whole.window.tour is tour


def test_esc_stops_the_servo_and_leaves_the_tour(whole, tour, monkeypatch):
    stops = []
    monkeypatch.setattr(ServoLink, "released", False)
    monkeypatch.setattr(Recording, "emergency_stop", lambda _: stops.append(True))
    tour.card.next_button.setFocus()
    for widget in (tour.card.next_button, whole.window):
        QTest.keyClick(widget, Qt.Key.Key_Escape)
        assert stops == [True]
        stops.clear()
        whole.qtbot.wait(1)
    assert tour.active


def test_it_never_takes_the_focus(whole):
    window = whole.window
    field = window.record.form.field("duration")
    field.setFocus()
    window.activateWindow()
    whole.until(field.hasFocus)
    window.show_tour()
    for _ in STEPS[:-1]:
        assert window.focusWidget() is field
        window.tour.onwards()
    whole.click(window.tour.card.back_button)
    assert window.focusWidget() is field


def test_a_panel_that_was_closed_is_passed_over(whole, tour):
    whole.window.work.docks["session"].close()
    begin_at(tour, RUN)
    tour.onwards()
    assert tour.number == PLACING
    tour.back()
    assert tour.number == RUN


def test_only_missing_things_end_it(whole):
    nothing = replace(STEPS[0], targets=lambda window: [])
    tour = Tour(whole.window, [nothing, nothing])
    tour.begin()
    assert not tour.active


def test_it_follows_a_floating_panel(whole, tour):
    window = whole.window
    begin_at(tour, SESSION)
    dock = window.work.docks["session"]
    dock.setFloating(True)
    whole.until(lambda: tour.outline.window() is dock)
    assert tour.card.window() is window
    dock.setFloating(False)
    whole.until(lambda: tour.outline.window() is window)


def test_it_follows_size_and_colours(whole, tour):
    window = whole.window
    begin_at(tour, EXPORTING)
    window.show_task(EXPORT)
    window.appearance.choose("dark")
    for size in ((1180, 640), (1920, 1080)):
        window.resize(*size)
        tour.follow()
        card = tour.card.geometry()
        assert window.rect().contains(card)
        assert not card.intersects(rectangle(window, tour.target()))
        assert not card.intersects(rectangle(window, window.status_bar.stop_button))
        needed = tour.card.layout().totalHeightForWidth(tour.card.width())
        assert tour.card.height() >= needed, "no line is cut off"
    window.appearance.choose("light")


ROOM = QRect(0, 52, 1180, 588)
SIZE = QSize(320, 140)


@given(st.integers(0, 1100), st.integers(52, 600), st.integers(10, 300), st.integers(10, 200))
def test_a_card_is_in_a_corner_apart_from_its_target(x, y, width, height):
    """The card stays in the room, covers nothing of a small target and leaves the target's half of the room free."""
    target = QRect(x, y, width, height).intersected(ROOM)
    card = QRect(place_card(ROOM, target, SIZE), SIZE)
    assert ROOM.adjusted(GAP, GAP, -GAP, -GAP).contains(card)
    assert target.isEmpty() or not card.intersects(target)
    left = card.left() == ROOM.left() + GAP
    assert (
        target.isEmpty()
        or left == (target.center().x() > ROOM.center().x())
        or abs(target.center().x() - ROOM.center().x()) < 2
    )
