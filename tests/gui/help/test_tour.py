"""The guided tour: beside the work, on when the work goes on, never in the way of it."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtTest import QTest

from bench_gui.record.recording import Recording
from bench_gui.shell.command_palette import CommandPalette
from bench_gui.shell.tasks import BENCH, COMPARE, EXPORT, RECORD
from bench_gui.state.servo_link import ServoLink
from bench_gui.tour.steps import STEPS
from bench_gui.tour.tour import Tour
from bench_gui.tour.whereabouts import GAP, place_card
from drivers.servo import ServoState

CONNECT, PENDULUM, RUN, SESSION, PLACING, IDENTIFYING, COMPARING, EXPORTING = range(8)


@pytest.fixture
def tour(person):
    person.window.show_tour()
    return person.window.tour


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


def test_every_step_points_at_something(person, tour):
    window = person.window
    for number, step in enumerate(tour.steps):
        assert tour.number == number
        assert tour.card.isVisible()
        assert f"{number + 1} of {len(STEPS)}" == tour.card.place.text()
        for there in [window.rail.buttons[step.task]] if step.task is not None else []:
            assert tour.target() is there
            window.show_task(step.task)
        tour.follow()
        target = tour.target()
        assert target is not None
        assert outlined(tour).intersects(rectangle(window, target))
        person.click(tour.card.next_button)
    assert not tour.active
    assert "Guided tour" in person.message


def test_it_goes_on_when_the_thing_is_done(person, tour):
    controller, window = person.controller, person.window
    assert person.state is ServoState.DISCONNECTED, "the tour moves nothing by itself"
    person.connect()
    assert tour.number == PENDULUM
    window.show_task(BENCH)
    controller.setup.set_bench(mass=0.7)
    assert tour.number == RUN
    window.show_task(RECORD)
    person.record(0.3)
    person.until(lambda: tour.number == SESSION)


def test_a_run_that_failed_is_not_done(person, tour):
    begin_at(tour, RUN)
    person.controller.queue.ended.emit(SimpleNamespace(exit_status="abort", id="0001", samples=3, reason=""))
    assert tour.number == RUN


def test_back_and_skip(person, tour):
    tour.onwards()
    person.click(tour.card.back_button)
    assert tour.number == CONNECT
    assert not tour.card.back_button.isEnabled()
    person.click(tour.card.skip_button)
    assert not tour.active
    assert not tour.card.isVisible()
    assert not tour.outline.isVisible()
    person.window.show_tour()
    assert tour.number == CONNECT
    assert person.window.tour is tour


def test_esc_stops_the_servo_and_leaves_the_tour(person, tour, monkeypatch):
    stops = []
    monkeypatch.setattr(ServoLink, "released", False)
    monkeypatch.setattr(Recording, "emergency_stop", lambda _: stops.append(True))
    tour.card.next_button.setFocus()
    for widget in (tour.card.next_button, person.window):
        QTest.keyClick(widget, Qt.Key.Key_Escape)
        assert stops == [True]
        stops.clear()
        person.qtbot.wait(1)
    assert tour.active


def test_it_never_takes_the_focus(person):
    window = person.window
    field = window.record.form.field("duration")
    field.setFocus()
    window.activateWindow()
    person.until(field.hasFocus)
    window.show_tour()
    for _ in STEPS[:-1]:
        assert window.focusWidget() is field
        window.tour.onwards()
    person.click(window.tour.card.back_button)
    assert window.focusWidget() is field


def test_the_mouse_goes_through_the_outline(person, tour):
    button = person.window.status_bar.connect_button
    tour.follow()
    edge = button.mapTo(person.window, QPoint(1, button.height() // 2))
    assert person.window.childAt(edge) is button


def test_a_panel_that_was_closed_is_passed_over(person, tour):
    person.window.work.docks["session"].close()
    begin_at(tour, RUN)
    tour.onwards()
    assert tour.number == PLACING
    tour.back()
    assert tour.number == RUN


def test_only_missing_things_end_it(person):
    nothing = replace(STEPS[0], targets=lambda window: [])
    tour = Tour(person.window, [nothing, nothing])
    tour.begin()
    assert not tour.active


def test_it_follows_a_floating_panel(person, tour):
    window = person.window
    begin_at(tour, SESSION)
    dock = window.work.docks["session"]
    dock.setFloating(True)
    person.until(lambda: tour.outline.window() is dock)
    assert tour.card.window() is window
    dock.setFloating(False)
    person.until(lambda: tour.outline.window() is window)


def test_it_follows_size_and_colours(person, tour):
    window = person.window
    begin_at(tour, EXPORTING)
    window.show_task(EXPORT)
    window.appearance.apply("dark")
    for size in ((1180, 640), (1920, 1080)):
        window.resize(*size)
        tour.follow()
        card = tour.card.geometry()
        assert window.rect().contains(card)
        assert not card.intersects(rectangle(window, tour.target()))
        assert not card.intersects(rectangle(window, window.status_bar.stop_button))
        needed = tour.card.layout().totalHeightForWidth(tour.card.width())
        assert tour.card.height() >= needed, "no line is cut off"
    window.appearance.apply("light")


def test_the_palette_has_it(person):
    palette = CommandPalette(person.window.menus, person.window.record)
    palette.field.setText("guided tour")
    assert palette.texts()[0].endswith("Guided tour")


def test_steps_know_the_tasks_by_their_numbers():
    assert [step.task for step in STEPS if step.task in (BENCH, RECORD, COMPARE, EXPORT)] == [
        BENCH,
        RECORD,
        COMPARE,
        EXPORT,
    ]


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
