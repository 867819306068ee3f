"""Acceptance rows of the Record task: preview, run, queue, live plots; the twin and the plan that belong to them."""

import os
import re
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QObject, Qt

from bench_gui.record.plots import PINNED, STRIPS
from bench_gui.record.trajectory_form import file_size
from bench_gui.record.view import LIST, LIVE
from core.practice.plan import GridPlan
from drivers.servo import ServoState
from sessions import Session
from tests.waiting import FAST

AT_ONCE = "simulated:mx106?clock=virtual"
"""Runs take no time and lose no sample, however busy the machine is."""


@pytest.fixture(autouse=True)
def _nobody_is_asked(monkeypatch):
    """Some tests end while a run is on."""
    monkeypatch.setattr("bench_gui.main_window.may_close", lambda *_: True)


def connect(person, address=FAST):
    person.controller.connecting.connect_to(address)
    person.until(lambda: person.state is ServoState.READY)


def with_twin(person):
    """Connect, with the simulation of the twin ready, as it is a few seconds after the start of the window."""
    connect(person, AT_ONCE)
    ready = []
    person.controller.prepare()
    person.controller.background.submit("compute", int, done=ready.append)
    person.until(lambda: bool(ready))


def choose(person, name, duration):
    form = person.window.record.form
    form.choice.setCurrentIndex(form.choice.findData(name))
    form.field("duration").setValue(duration)


def statuses(person):
    return [run.exit_status for run in person.controller.library.runs]


def at_rest(person):
    person.until(lambda: person.state is ServoState.READY and not person.controller.queue.active)


def test_trajectory_preview(person):
    """Curve, limits, duration and size before Record; beyond the limits the reason stands below the numbers."""
    record = person.window.record
    person.connect()
    choose(person, "up_and_down", 6.0)
    drawn = record.plots.curves["goal"].getData()
    assert drawn[0][-1] == pytest.approx(6.0)
    assert drawn[1].max() == pytest.approx(np.pi / 2, abs=1e-3)
    limits = person.controller.servo.limits
    assert record.plots.limit_lines == (limits.lowest_position, limits.highest_position)
    facts = record.form.facts.text()
    assert "0.00 … 1.57 rad" in facts
    assert "Limits −3.14 … 3.14 rad" in facts
    assert "6.0 s, about 152 kB, ends " in facts
    assert record.form.problem.text() == ""
    recorder = person.controller.servo.recorder
    recorder.limits = replace(limits, highest_position=0.5)
    record.form.field("top").setValue(1.2)
    why = record.form.problem.text()
    assert "1.26 rad, above the servo's angle limits, 0.50 rad" in why
    assert "reduce it or widen the limits" in why
    person.click(record.run_button)
    assert record.start.reason.text() == why
    person.click(record.start.add_button)
    assert not person.controller.queue.waiting
    assert person.state is ServoState.READY, "a refused number is no fault"
    for name in ("top", "end"):
        record.form.field(name).setValue(0.4)
    assert not record.form.problem.isVisible()
    assert record.start.reason.text() == ""


LONGER = pytest.mark.exhaustive("longer runs")


@pytest.mark.parametrize(
    ("duration", "rate"),
    [(1.0, 200.0), (4.0, 1000.0), pytest.param(6.0, 200.0, marks=LONGER), pytest.param(20.0, 1000.0, marks=LONGER)],
)
def test_the_estimated_size_is_that_of_the_file(tmp_path, duration, rate):
    from core.motion.recording import RunHeader
    from core.motion.trajectories import make_trajectory
    from core.servo.bench import Bench
    from drivers.recorder import record_inline
    from drivers.registry import open_servo

    session = Session.create(tmp_path / "session")
    with open_servo("simulated:mx106?clock=virtual") as servo:
        servo.connect()
        header = RunHeader(
            trajectory="sin_sin",
            bench=Bench(mass=1.0, length=0.1),
            settings=servo.model.default_settings(),
            rate=rate,
        )
        result = record_inline(servo, make_trajectory("sin_sin", duration), header, session.sink())
    real = os.path.getsize(session.path / "runs" / f"{result.id}.h5")
    assert file_size(duration, rate) == pytest.approx(real, rel=0.03)


def test_queue(person):
    """Three runs, the second aborted, resumed; reordered before."""
    connect(person)
    record, queue = person.window.record, person.controller.queue
    for name, duration in (("half_sine", 2.0), ("steps", 2.0), ("sin_sin", 300.0)):
        choose(person, name, duration)
        person.click(record.start.add_button)
    record.tabs.choose(LIST)
    choose_row(record, "Slow with sub-oscillations")
    person.qtbot.keyClick(record.runs.list, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    person.click(record.run_button)
    person.until(lambda: queue.running is not None and queue.running.trajectory.name == "sin_sin")
    person.until(lambda: record.live.count > 50)
    assert queue.place == (2, 3)
    person.click(record.start.abort_button)
    at_rest(person)
    person.until(lambda: statuses(person) == ["success", "abort"])
    assert queue.paused
    assert record.start.reason.text() == "Aborted: Slow with sub-oscillations."
    assert [run.trajectory.name for run in queue.waiting] == ["steps"]
    person.click(record.run_button)
    person.until(lambda: statuses(person) == ["success", "abort", "success"])
    assert [run.trajectory for run in person.controller.library.runs] == ["half_sine", "sin_sin", "steps"]


class Paints(QObject):
    """Counts the paint events of widgets."""

    def __init__(self, widgets):
        super().__init__()
        self.count = 0
        for widget in widgets:
            widget.installEventFilter(self)

    def eventFilter(self, watched, event):
        self.count += event.type() is QEvent.Type.Paint
        return False


def test_live_plots(person):
    """A frozen picture loses nothing; one out of sight, or a channel that is not pinned, costs nothing."""
    person.connect()
    record = person.window.record
    plots, live = record.plots, record.live
    assert len(plots.charts) == 3, "a chart is made when it is first wanted"
    for _ in ("pinned", "and no more"):
        for name in STRIPS.keys() - set(PINNED):
            plots.pins.menu().actions()[list(STRIPS).index(name)].trigger()
    hidden = [chart for chart in plots.charts if not chart.isVisible()]
    assert len(hidden) == 3
    unpinned = Paints([chart.viewport() for chart in hidden])
    choose(person, "sin_sin", 600.0)
    person.click(record.run_button)
    line = person.window.status_line.foremost
    # Work is listed once it has taken a second.
    person.until(lambda: line.isVisible() and " of about " in line.text.text())
    view = person.controller.servo.view
    assert line.bar.value() / line.bar.maximum() == pytest.approx(view.done / view.length, abs=0.01)
    drawn = plots.curves["position"]
    person.until(lambda: len(drawn.getData()[0]) > 40)
    person.click(record.page.freeze)
    frozen = drawn.getData()[0][-1]
    before = live.count
    person.until(lambda: live.count > before + 100)
    assert drawn.getData()[0][-1] == frozen
    person.click(record.page.freeze)
    # On a busy machine more samples may come between the drawing and this look at it.
    person.until(lambda: drawn.getData()[0][-1] == pytest.approx(live.column("time")[-1], abs=0.1))
    # Another task in sight: nothing of the plots is painted or handed over.
    person.window.show_task(person.window.pages.index(person.window.compare))
    last = drawn.getData()[0][-1]
    paints = Paints([chart.viewport() for chart in plots.charts])
    before = live.count
    person.until(lambda: live.count > before + 100)
    assert (paints.count, unpinned.count) == (0, 0)
    assert drawn.getData()[0][-1] == last
    person.window.show_task(person.window.pages.index(record))
    person.click(record.start.abort_button)
    person.until(lambda: statuses(person) == ["abort"])
    person.until(lambda: drawn.getData()[0][-1] == pytest.approx(live.column("time")[-1]))
    # Every sample that was written was held.
    recording = Session.open(person.controller.library.path).load(person.controller.library.runs[0].id)
    np.testing.assert_array_equal(live.column("position"), recording.position)
    np.testing.assert_array_equal(live.column("time"), recording.time)


# The digital twin.


def test_the_twin_follows_the_motion_it_is_the_model_of(person):
    with_twin(person)
    choose(person, "sin_sin", 6.0)
    record, twin = person.window.record, person.controller.twin
    person.click(record.run_button)
    person.until(lambda: statuses(person) == ["success"])
    at_rest(person)
    person.until(lambda: twin.watch is not None and twin.watch.count >= 1190)
    assert twin.watch.share_inside > 0.97
    assert not twin.alarm
    assert "Twin M6 catalogue" in record.page.twin_text.text()
    assert "(assumed)" in record.page.twin_text.text()
    assert not record.page.twin_words.isVisible()
    curves = record.plots.curves
    person.until(lambda: max(curves["twin"].getData()[0], default=0.0) > 5.98)
    x, y = curves["band"].getData()
    assert np.ptp(y[x == x.max()]) > 0.1


def test_a_load_that_was_set_wrong_is_seen_at_once(person, monkeypatch):
    """The servo hangs 2.5 times what the person said; the run goes on and the page says what to check."""
    with_twin(person)
    servo = person.controller.servo
    genuine = servo.record

    def another_load(trajectory, header, sink):
        genuine(trajectory, replace(header, bench=replace(header.bench, mass=2.5 * header.bench.mass)), sink)

    monkeypatch.setattr(servo, "record", another_load)
    person.controller.setup.set_bench(mass=1.0, length=0.15)
    person.controller.setup.set_kp(8.0)
    choose(person, "up_and_down", 6.0)
    record = person.window.record
    person.click(record.run_button)
    person.until(lambda: person.controller.twin.alarm)
    person.until(lambda: statuses(person) == ["success"])
    fitting = re.compile(r"the motion fits ([\d.]+) kg")
    person.until(lambda: bool(fitting.search(record.page.twin_words.text())))
    person.until(lambda: float(fitting.search(record.page.twin_words.text())[1]) == pytest.approx(2.5, rel=0.02))
    assert record.page.twin_words.isVisible()
    assert "heavier" in record.page.twin_words.text()
    assert "check mass and length" in record.page.twin_words.text()
    assert any("heavier" in entry.text for entry in person.controller.journal.entries)


# The recording plan.


def choose_row(record, title):
    """Choose the row of the list that holds this text."""
    rows = record.runs.list
    (item,) = [rows.item(place) for place in range(rows.count()) if title in rows.item(place).text()]
    rows.setCurrentItem(item)


def shown(record):
    """What the list says, from above."""
    return [record.runs.list.item(place).text() for place in range(record.runs.list.count())]


def planned(person, **changed):
    """A small plan, typed into the page."""
    form = person.window.record.plan
    person.window.record.tabs.choose(LIST)
    for name, text in {"masses": "0.5, 1", "lengths": "0.1", "kps": "8, 16", **changed}.items():
        field = form.fields[name]
        field.setText(text)
        person.qtbot.keyClick(field, Qt.Key.Key_Return)
    for name, action in form.chosen.items():
        if action.isChecked() != (name == "half_sine"):
            action.trigger()
    form.length.setValue(0.5)
    return form


def test_a_plan_is_recorded_cell_by_cell_and_goes_on_later(person):
    connect(person, AT_ONCE)
    form, record, queue = planned(person), person.window.record, person.controller.queue
    plan = person.controller.plan.plan
    assert (plan.masses, plan.kps, plan.trajectories) == ((0.5, 1.0), (8.0, 16.0), ("half_sine",))
    person.until(lambda: form.progress.text().startswith("0 of 4 runs recorded, "))
    assert form.add_button.text() == "Add 4 runs"
    person.click(form.add_button)
    assert shown(record) == [
        "0.5 kg at 0.1 m",
        "○  Half sines, kp 8  ·  waiting",
        "○  Half sines, kp 16  ·  waiting",
        "1 kg at 0.1 m",
        "○  Half sines, kp 8  ·  waiting",
        "○  Half sines, kp 16  ·  waiting",
    ]
    queue.started.connect(lambda _: queue.pause(), Qt.ConnectionType.SingleShotConnection)
    person.click(record.run_button)
    person.until(lambda: len(person.controller.library.runs) == 1)
    at_rest(person)
    path = person.controller.library.path
    person.until(lambda: Session.open(path).document("plan") is not None)
    assert GridPlan.from_json(Session.open(path).document("plan")) == plan
    # After lunch: another plan was looked at, the session is opened again.
    queue.keep(())
    person.controller.plan.edit(replace(plan, kps=(99.0,)), "plan")
    person.controller.plan.edit(plan, "plan")
    person.open(path)
    person.until(lambda: form.progress.text().startswith("1 of 4"))
    assert shown(record) == ["0.5 kg at 0.1 m", "✓  Half sines, kp 8  ·  0001"]
    person.click(form.add_button)
    person.click(record.run_button)
    person.until(lambda: person.controller.plan.status.complete)
    found = [(run.mass, run.kp) for run in person.controller.library.runs]
    assert sorted(found) == [(0.5, 8.0), (0.5, 16.0), (1.0, 8.0), (1.0, 16.0)]
    person.until(lambda: form.progress.text() == "4 of 4 runs recorded")
    assert not form.add_button.isEnabled()
    at_rest(person)
    assert [text[0] for text in shown(record) if "kg at" not in text] == ["✓"] * 4


def test_a_cell_recorded_again_takes_the_place_of_the_old_run(person):
    connect(person, AT_ONCE)
    form, record = planned(person, masses="0.5", kps="8, 16"), person.window.record
    person.click(form.add_button)
    person.click(record.run_button)
    person.until(lambda: person.controller.plan.status.complete)
    at_rest(person)
    old = person.controller.library.runs[1].id
    choose_row(record, "kp 16")
    person.click(record.runs.again_button)
    assert any(text.endswith(f"waiting, replaces {old[:4]}") for text in shown(record))
    person.click(record.run_button)
    person.until(lambda: len(person.controller.library.runs) == 3)
    session = Session.open(person.controller.library.path)
    person.until(lambda: old in session.annotations())
    note, newest = session.annotations()[old], person.controller.library.runs[2]
    assert note.excluded
    assert newest.id in note.reason
    assert newest.kp == 16.0
    person.until(lambda: newest.id in person.controller.plan.status.done.values())
    assert person.controller.plan.status.complete


def test_a_person_is_prompted_for_each_change_by_hand(person, monkeypatch):
    """A servo that exists only here is never prompted for; this one is made to count as a real one."""
    connect(person, AT_ONCE)
    queue, record = person.controller.queue, person.window.record
    monkeypatch.setattr(type(queue), "simulated", property(lambda self: False))
    queue.countdown.seconds = 0.0
    form = planned(person, kps="8")
    person.click(form.add_button)
    person.click(record.run_button)
    assert record.prompt.isVisible()
    assert record.prompt.text.text() == "Hang 0.5 kg at 0.1 m, then press Continue"
    assert not queue.active
    assert record.run_button.text() == "Continue"
    person.click(record.run_button)
    person.until(lambda: len(person.controller.library.runs) == 1)
    person.until(lambda: record.prompt.isVisible())
    assert record.prompt.text.text() == "Hang 1 kg instead of 0.5 kg, still at 0.1 m, then press Continue"
    person.until(lambda: person.state is ServoState.READY)
    person.qtbot.keyClick(record.prompt, Qt.Key.Key_Return)
    assert not record.prompt.isVisible()
    person.until(lambda: person.controller.plan.status.complete)
    assert person.controller.setup.bench.mass == 1.0


def test_a_plan_that_cannot_be_is_said_where_it_is_typed(person):
    connect(person, AT_ONCE)
    form = planned(person)
    plan = person.controller.plan.plan
    for text, said in (
        ("0.5, heavy", "'heavy' is not a number"),
        ("0", "positive"),
        ("1, 1", "twice"),
        ("", "at least one"),
    ):
        form.fields["masses"].setText(text)
        person.qtbot.keyClick(form.fields["masses"], Qt.Key.Key_Return)
        assert said in form.problem.text()
        assert person.controller.plan.plan == plan
        assert not form.add_button.isEnabled()
    form.fields["masses"].setText("20")
    person.qtbot.keyClick(form.fields["masses"], Qt.Key.Key_Return)
    assert "cannot hold 20 kg at 0.1 m" in form.problem.text()
    person.controller.undo.undo()
    person.until(lambda: form.fields["masses"].text() == "0.5, 1")
    person.window.record.tabs.choose(LIVE)
    assert person.window.record.plots.isVisible()
