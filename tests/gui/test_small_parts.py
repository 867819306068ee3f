"""Parts of the window by themselves, at the numbers where they say something else. No window, no servo."""

import math
from datetime import datetime
from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtWidgets import QWidget

from bench_gui.compare.channels import shown
from bench_gui.compare.heat_map import HeatTable
from bench_gui.controller import Controller
from bench_gui.export.exporting import Exporting
from bench_gui.headless.exporting import Exported
from bench_gui.headless.place.rests import Target
from bench_gui.place.hold_plan import HoldPlan
from bench_gui.place.point_table import SOUGHT, PointTable
from bench_gui.plots.heat import CIVIDIS
from bench_gui.record.queue import QueuedRun
from bench_gui.record.run_list import RunList
from bench_gui.record.trajectory_form import end_time, file_size, size_in_words
from bench_gui.record.waiting import waiting_from_json, waiting_to_json
from bench_gui.session.dialogs.about_runs import COMMON_REASONS, ExcludeDialog
from bench_gui.session.dialogs.trim_dialog import TrimDialog
from bench_gui.state.journal import MOST_ENTRIES, FileWarnings, Journal
from bench_gui.state.models import ModelList
from bench_gui.state.servo_link import ServoView
from bench_gui.state.setup import BenchSetup, Gains
from bench_gui.widgets import fields
from bench_gui.widgets.pendulum import at
from bench_gui.widgets.status_bar import StatusBar
from bench_gui.widgets.text_table import VALUE_ROLE
from bench_gui.work.activity import Activities
from bench_gui.work.computation import Computation, Computations
from core.base.errors import InputError
from core.base.sealed import EDITED, SEAL, is_edited
from core.base.units import DEGREES, RADIANS, as_certain, readable, with_uncertainty
from core.document.plot import HeatPanel
from core.motion.trajectories import make_trajectory
from core.practice.placement import PlacedPoint
from core.practice.plan import Cell
from core.practice.twin import OUTSIDE_LIMIT, TwinMotion, Watch
from core.servo import catalogue
from core.servo.bench import Bench
from core.servo.catalogue import load_servo
from core.servo.shipped import load_model
from drivers.recorder import Phase, RunResult
from drivers.recorder.link import EMERGENCY
from drivers.servo import ServoState
from sessions import Annotation
from tests.gui.session.test_run_words import RUN
from tests.gui.test_columns import row_of


@pytest.mark.parametrize(("level", "unseen"), [("info", 0), ("warning", 0), ("error", 1), ("fault", 1)])
def test_only_faults_and_errors_wait_to_be_looked_at(level, unseen):
    journal, changes = Journal(), []
    journal.unseen_changed.connect(lambda: changes.append(len(journal.unseen)))
    journal.add(level, "the coupling slipped")
    (entry,) = journal.entries
    assert journal.unseen == [entry] * unseen
    journal.look()
    assert (journal.unseen, changes) == ([], [unseen, 0] if unseen else [])
    journal.say("error", "shown to the user as a notice")
    assert journal.unseen == []
    del journal.entries[1:]
    assert (entry.level, entry.text) == (level, "The coupling slipped")
    assert journal.text() == f"{entry.at.isoformat(timespec='seconds')}  {level:7}  The coupling slipped\n"


def test_warnings_about_files_reach_the_window_until_it_closes():
    warnings, said = FileWarnings(), []
    warnings.logged.connect(said.append)
    assert is_edited({"kt": 2.7, SEAL: "another"}, "seen.json")
    assert said[0].startswith(f"seen.json: {EDITED}")
    catalogue.LOG.warning("servo mine: kept")
    assert said.pop() == "servo mine: kept", "an added servo is no line on the terminal"
    warnings.close()
    assert is_edited({"kt": 2.8, SEAL: "another"}, "seen.json")
    assert len(said) == 1


def test_an_edited_file_is_a_warning_and_no_error(qapp, monkeypatch, tmp_path):
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path))
    controller = Controller("simulated:mx106")
    assert is_edited({"kt": 2.9, SEAL: "another"}, "seen.json")
    assert [entry.level for entry in controller.journal.entries] == ["warning"]
    assert controller.journal.unseen == []
    controller.close()


def test_the_oldest_lines_of_a_journal_go_first():
    journal = Journal()
    for number in range(MOST_ENTRIES + 2):
        journal.add("info", f"line {number}")
    assert [entry.text for entry in journal.entries][:: MOST_ENTRIES - 1] == ["Line 2", f"Line {MOST_ENTRIES + 1}"]


def test_a_trim_ends_where_the_run_does_only_at_its_very_end(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    dialog = TrimDialog(window)
    dialog.ask(RUN, Annotation(), DEGREES, lambda begin, end: None)
    assert (dialog.begin, dialog.end) == (None, None)
    dialog.first.setValue(0.5)
    dialog.last.setValue(RUN.duration - 0.5)
    assert (dialog.begin, dialog.end) == (0.5, RUN.duration - 0.5)
    dialog.close()


@pytest.fixture
def bar(qapp):
    made = StatusBar(
        lambda: "MX-106",
        lambda: [("MX-64", "simulated:mx64"), ("XL330", "simulated:xl330")],
        **{name: lambda *a, name=name: made.told.append((name, *a)) for name in ("connect", "disconnect", "choose")},
        **{name: lambda *a, name=name: made.told.append((name, *a)) for name in ("acknowledge", "stop")},
    )
    made.told = []
    return made


def test_the_menu_beside_connect_offers_each_servo_under_its_title(bar):
    assert [action.text() for action in bar.menu.actions()] == ["MX-64 (simulated)", "XL330 (simulated)"]
    for action in bar.menu.actions():
        action.trigger()
    assert bar.told == [("choose", "simulated:mx64"), ("choose", "simulated:xl330")]


def test_a_drawn_pendulum_turns_counter_clockwise():
    right, left, up = (at(QPointF(10.0, 20.0), 2.0, angle) for angle in (math.pi / 2, -math.pi / 2, math.pi))
    assert [(round(p.x(), 6), round(p.y(), 6)) for p in (right, left, up)] == [(12.0, 20.0), (8.0, 20.0), (10.0, 18.0)]


def test_the_status_bar_says_each_number_with_its_unit(bar):
    moving = {"state": ServoState.ENABLED, "length": 100, "skipped": 3}
    bar.show_view(ServoView(supply_voltage=11.96, temperature=41.4, **moving), 200.0, "Normal priority.")
    assert (bar.state.text(), bar.servo.text(), bar.numbers.text()) == ("MOVING", "MX-106", "12.0 V  ·  41 °C")
    assert bar.cycles.text() == "200 Hz  ·  3 skipped"
    bar.show_view(ServoView(supply_voltage=math.nan, temperature=41.4, bus_errors=2, state=ServoState.READY), 50.0)
    assert (bar.numbers.text(), bar.cycles.text()) == ("41 °C", "50 Hz, 2 bus errors")
    bar.show_view(ServoView(supply_voltage=11.96, state=ServoState.FAULT, fault="too hot"), 50.0)
    assert (bar.state.text(), bar.cycles.text(), bar.fault.text()) == ("FAULT", "", "Too hot")
    bar.show_view(ServoView(), 50.0)
    assert (bar.state.text(), bar.servo.text(), bar.numbers.text()) == ("OFF", "MX-106", "")


def test_the_model_in_use_is_the_picked_one_then_the_recommended_then_the_catalogue_s_richest(qapp):
    models = ModelList()
    models.set_servo("mx106")
    assert models.current.key == "catalogue:mx106:m6"
    models.set_identified([load_model("mx106", name) for name in ("m1", "m2", "m3")], "m2")
    assert models.current.key == "identified:m2"
    models.set_current("identified:m1")
    assert models.current.key == "identified:m1"
    models.set_current("")
    assert models.current.key == "identified:m2"


def watched(outside):
    """Follow a run of 4 s at 100 Hz that is outside of its band where `outside` says so."""
    time = 0.01 * np.arange(400)
    twin = TwinMotion(time, np.zeros(400), np.full(400, 0.01), 0.01, True)
    watch = Watch(twin)
    for part in np.array_split(np.arange(400), 23):
        watch.take(time[part], np.where(outside(time[part]), 0.03, 0.004))
    return watch


def test_only_motion_that_stays_outside_is_told():
    """From 1 s on: told once it has lasted. For a quarter of a second in every one: never, however often."""
    assert watched(lambda t: t > 0.995).alarm_at == pytest.approx(1.0 + OUTSIDE_LIMIT, abs=0.011)
    often = watched(lambda t: t % 1.0 < 0.25)
    assert math.isnan(often.alarm_at)
    assert often.share_inside == pytest.approx(0.75)
    assert often.mean == pytest.approx(0.25 * 0.03 + 0.75 * 0.004)
    assert math.isnan(watched(lambda t: t < 0.0).alarm_at)


def placed(angle, side, spread, torque=0.4, repeat=1):
    bench = Bench(mass=0.5, length=0.15, angle_offset=0.1)
    return PlacedPoint(
        motor_torque=torque,
        angle=angle,
        side=side,
        bench=bench,
        servo="mx106",
        repeat=repeat,
        spread=spread,
        fell=angle,
    )


def test_placed_extremes_stand_below_their_headings(qapp):
    table = PointTable()
    points = [placed(0.2, "drive", 0.003), placed(0.7, "backdrive", 0.001), placed(0.3, "drive", 0.002, repeat=2)]
    table.set_points(points, [Target(0.4, 2, "backdrive"), Target(0.6, 1, "drive")], None)
    table.set_sought(Target(0.4, 2, "backdrive"))
    rows = [row_of(table, row) for row in range(table.rowCount())]
    heads = ("Torque\n[N·m]", "Lowest\n[rad]", "Highest\n[rad]", "Error ±\n[mrad]")
    assert [tuple(row[head] for head in heads) for row in rows] == [
        ("0.4", "0.3000", "0.8000", "3.0"),
        ("0.4  #2", "0.4000", SOUGHT, "2.0"),
        ("0.6", "–", "–", ""),
    ]
    table.set_unit(DEGREES, -1)
    assert row_of(table, 0)["Lowest\n[°]"] == "−17.19"
    table.set_unit(RADIANS, 1)
    assert table.target(table.index(1, 2)) == Target(0.4, 2, "backdrive")


def test_what_a_run_will_take():
    """Samples of whole blocks once a run is longer than one, and the day where it ends on another."""
    row = file_size(1.0, 100.0) - file_size(0.99, 100.0)
    assert file_size(16_384.0, 1.0) - file_size(1.0, 1.0) == 16_383 * row
    assert file_size(16_385.0, 1.0) - file_size(16_384.0, 1.0) == 16_384 * row
    assert [size_in_words(count) for count in (999_499, 1_000_000, 2_540_000)] == ["999 kB", "1.0 MB", "2.5 MB"]
    now = datetime(2026, 3, 6, 23, 30)
    assert [end_time(seconds, now) for seconds in (60.0, 1799.0, 1800.0)] == ["23:31", "23:59", "Sat 00:00"]


@pytest.mark.parametrize(
    ("model", "target", "kp", "folder", "written"),
    [
        ("m1", "mujoco", 24.0, "out", True),
        ("m2", "mujoco", 24.0, "out", False),
        ("m1", "c", 24.0, "out", False),
        ("m1", "mujoco", 25.0, "out", False),
        ("m1", "mujoco", 24.0, "elsewhere", False),
    ],
)
def test_a_check_takes_the_written_files_if_they_are_what_is_chosen(
    qapp, monkeypatch, tmp_path, model, target, kp, folder, written
):
    monkeypatch.setattr(Computation, "start", lambda self, job: setattr(self, "job", job))
    exporting = Exporting(None, None, Computations(Activities()))
    exporting.set_folder(tmp_path / "out")
    exporting.export("m1", "mujoco", {"kp": 24.0})
    exporting.writer.finished.emit(Exported((), (), None))
    exporting.set_folder(tmp_path / folder)
    exporting.check(model, target, {"kp": kp})
    assert exporting.checker.job.folder == (tmp_path / "out" if written else None)


def test_a_long_list_shows_the_last_runs_and_the_next(qtbot, monkeypatch):
    monkeypatch.setattr("bench_gui.record.run_list.MOST_SHOWN", 2)
    motion, setup = make_trajectory("steps"), BenchSetup(load_servo("mx106"))
    setup.set_bench(mass=0.5, length=0.1)
    runs = [QueuedRun(number, motion, setup.header(motion, "simulated:mx106")) for number in range(1, 8)]
    past = [(run, RunResult(run=run.number, id=f"000{run.number}_steps", exit_status="success")) for run in runs[:4]]
    queue = SimpleNamespace(past=past, running=None, waiting=runs[4:], keep=None)
    made = RunList(queue, SimpleNamespace(done={}, changed=SimpleNamespace(connect=lambda _: None)))
    qtbot.addWidget(made)
    made.show()
    assert [made.list.item(place).text().rpartition("·  ")[2] for place in range(made.list.count())] == [
        "2 earlier runs", "0.5 kg at 0.1 m", "0003", "0004", "waiting", "waiting", "and 1 more",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "half_width", "unit", "said"),
    [
        (0.41278, 0.0213, "N·m", "0.413 ± 0.021 N·m"),
        (-0.41278, 0.213, "N·m", "−0.41 ± 0.21 N·m"),
        (12.3456, 1.24, "V", "12.3 ± 1.2 V"),
        (1234.4, 130.0, "1", "1234 ± 130"),
        (0.000123456, 1e-7, "", "0.0001235 ± 1.0e−07"),
        (0.41278, math.inf, "N·m", "0.41 N·m, not determined"),
        (0.41278, math.nan, "N·m", "0.4128 N·m"),
        (0.41278, 0.0, "1", "0.4128"),
    ],
)
def test_a_value_has_no_more_digits_than_its_interval_bears_out(value, half_width, unit, said):
    assert with_uncertainty(value, half_width, unit) == said


@pytest.mark.parametrize(
    ("number", "half_width", "said"),
    [
        (0.4, 0.0213, "0.400"), (-14.1, 2.6, "−14.1"), (20.0, 0.0213, "20.000"), (0.000277, 0.047, "0.00028"),
        (1.2345, math.inf, "1.2"), (1.23456, math.nan, "1.235"), (0.0, 0.1, "0"), (math.nan, 0.1, "–"),
    ],
)  # fmt: skip
def test_a_number_beside_a_value_has_the_digits_of_its_interval(number, half_width, said):
    assert as_certain(number, half_width) == said


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("0.0028773775 A per rad, at most 0.9625 A", "0.002877 A per rad, at most 0.9625 A"),
        ("moves +0.0143433 rad and reads -0.0143433 rad", "moves +0.01434 rad and reads −0.01434 rad"),
        ("release 1.0.23456, `vin=12.345678 -1`, u = 0.000254", "release 1.0.23456, `vin=12.345678 -1`, u = 0.000254"),
        ("230.079 rad/s² at 9.80665 m/s²; z -axis", "230.1 rad/s² at 9.807 m/s²; z -axis"),
    ],
)
def test_numbers_of_a_sentence_have_four_digits_but_code_has_all(written, read):
    assert readable(written) == read


def test_a_negative_number_has_a_true_minus_sign_and_either_is_taken(qtbot):
    box = fields.number("Torque", "How much", "N·m", -1.5, -10.0, 10.0)
    qtbot.addWidget(box)
    assert box.text() == "−1.5 N·m"
    for typed in ("-2.5", "−2.5"):
        box.setValue(0.0)
        box.lineEdit().setText(typed)
        box.interpretText()
        assert box.value() == -2.5
        assert box.text() == "−2.5 N·m"


@pytest.mark.parametrize(
    ("view", "word", "kind", "refusal"),
    [
        ({}, "OFF", "off", "connect the servo first"),
        ({"connecting": True}, "CONNECTING", "off", "connect the servo first"),
        ({"state": ServoState.READY}, "READY", "ready", ""),
        ({"state": ServoState.READY, "phase": Phase.HOLD}, "READY", "ready", ""),
        (
            {"state": ServoState.READY, "locked_for": 2.1},
            *("READY", "ready", "the emergency stop was pressed; wait 3 s"),
        ),
        ({"state": ServoState.ENABLED, "phase": Phase.HOLD}, "HOLDING", "moving", ""),
        ({"state": ServoState.ENABLED, "phase": Phase.RUN}, "MOVING", "moving", ""),
        ({"state": ServoState.READY, "fault": EMERGENCY}, "READY", "ready", ""),
        ({"state": ServoState.FAULT, "fault": EMERGENCY}, "STOPPED", "stopped", "press Ready again first"),
        ({"state": ServoState.FAULT, "fault": "too hot"}, "FAULT", "fault", "acknowledge the servo's fault first"),
    ],
)
def test_a_servo_s_state_in_a_word_and_what_it_waits_for(view, word, kind, refusal):
    seen = ServoView(**view)
    assert (seen.word, seen.kind, seen.refusal) == (word, kind, refusal)


@pytest.mark.parametrize("name", ["kp", "ki", "kd", "damping"])
def test_each_gain_of_a_file_is_a_number_of_at_least_0(name):
    for value in (0.0, 2.5, 999_999_999.0):
        assert getattr(Gains.from_json({"kp": 1.0, name: value}), name) == value
    for value in (-0.001, math.nan, math.inf, 1e9, "2"):
        with pytest.raises(InputError, match="not a number of at least 0"):
            Gains.from_json({"kp": 1.0, name: value})


def test_a_rate_is_positive(qapp):
    setup = BenchSetup(load_servo("mx106"))
    for rate in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(InputError, match="give a positive number"):
            setup.set_rate(rate)
    assert setup.rate == 200.0


def test_waiting_runs_of_a_file_are_as_they_were_and_have_positive_numbers(qapp):
    setup, motion = BenchSetup(load_servo("mx106")), make_trajectory("steps")
    setup.set_bench(mass=0.7, length=0.12)
    setup.set_gains(Gains(kp=9.0, ki=0.5, kd=0.25))
    setup.edit_direction(-1)
    setup.set_rate(123.0)
    cell = Cell(trajectory="steps", length=0.12, mass=0.7, kp=9.0, repetition=2)
    header = setup.header(motion, "simulated:mx106")
    (data,) = waiting_to_json([(motion, header, cell)])
    assert waiting_from_json([data]) == [(motion, header, cell)]
    for name in ("length", "mass", "kp", "repetition"):
        for wrong in (0, -1.0, math.nan):
            with pytest.raises(InputError, match="must be positive numbers"):
                waiting_from_json([{**data, "cell": {**data["cell"], name: wrong}}])
    for wrong in (0.0, -1.0, math.inf):
        with pytest.raises(InputError, match="must be positive numbers"):
            waiting_from_json([{**data, "rate": wrong}])
    with pytest.raises(InputError, match="not a list"):
        waiting_from_json({"0": data})


def test_a_cell_of_a_heat_map_says_its_place_and_loses_a_digit_from_10_on(qapp):
    table = HeatTable()
    table.show_panel(
        HeatPanel("Mass [kg]", "Gain kp", ("1", "2"), ("8", "9"), np.array([[9.994, 10.04], [30.0, math.nan]]), "M1")
    )
    assert [[table.index(row, column).data() for column in (0, 1)] for row in (0, 1)] == [
        ["9.99", "10.0"],
        ["30.0", "–"],
    ]
    assert table.index(0, 1).data(Qt.ItemDataRole.ToolTipRole) == "Mass [kg] 1, Gain kp 9: 10.04 mrad"
    assert table.index(1, 1).data(Qt.ItemDataRole.AccessibleTextRole) == "Mass [kg] 2, Gain kp 9: error unknown"
    assert [table.index(row, 0).data(VALUE_ROLE) for row in (0, 1)] == [CIVIDIS[0], CIVIDIS[-1]]
    assert [table.headerData(row, Qt.Orientation.Vertical) for row in (0, 1, 2)] == ["1", "2", None]
    # Where all numbers are the same, none is high.
    table.show_panel(HeatPanel("Mass [kg]", "Gain kp", ("1",), ("8", "9"), np.array([[4.0, 4.0]]), "M1"))
    assert {table.index(0, column).data(VALUE_ROLE) for column in (0, 1)} == {CIVIDIS[0]}


@pytest.mark.parametrize(
    ("name", "unit", "said"),
    [
        ("position", RADIANS, ("Position", "rad", 1.0, "mrad", 1e3)),
        ("position", DEGREES, ("Position", "°", 180.0 / math.pi, "mrad", 1e3)),
        ("goal_position", DEGREES, ("Goal position", "°", 180.0 / math.pi, "mrad", 1e3)),
        ("velocity", RADIANS, ("Velocity", "rad/s", 1.0, "rad/s", 1.0)),
        ("velocity", DEGREES, ("Velocity", "°/s", 180.0 / math.pi, "°/s", 180.0 / math.pi)),
        ("current", DEGREES, ("Current", "A", 1.0, "A", 1.0)),
        ("duty_cycle", DEGREES, ("Duty cycle", "", 1.0, "", 1.0)),
        ("temperature", RADIANS, ("Temperature", "°C", 1.0, "°C", 1.0)),
    ],
)
def test_a_channel_and_its_error_have_their_units(name, unit, said):
    found = shown(name, unit)
    assert (found.title, found.unit, found.factor, found.error_unit, found.error_factor) == said
    assert found.name == name


def test_a_run_is_excluded_for_a_reason_only(qtbot):
    window, given = QWidget(), []
    qtbot.addWidget(window)
    dialog = ExcludeDialog(window, 2, ("late", "hit a stop"), given.append)
    assert dialog.title.text() == "Exclude 2 runs from fits"
    for text, possible in (("", False), ("  ", False), ("a slip", True)):
        dialog.reason.setText(text)
        assert dialog.exclude_button.isEnabled() == possible
        assert (dialog.exclude_button.toolTip() == "Enter a reason first") == (not possible)
    known = dialog.reason.completer().model()
    offered = [known.data(known.index(row, 0)) for row in range(known.rowCount())]
    assert offered[:3] == ["late", "hit a stop", "recovered after a crash"]
    assert len(set(offered)) == len(offered) == 1 + len(COMMON_REASONS)
    dialog.exclude_button.click()
    assert given == ["a slip"]


def test_torques_and_repeats_to_hold_come_back_as_they_were_chosen(qapp):
    plan = HoldPlan(BenchSetup(load_servo("mx106")), ModelList())
    assert plan.state() == {"torques": [], "repeats": 1}
    plan.restore({"torques": [0.4, -0.6], "repeats": 2})
    assert plan.state() == {"torques": [0.4, -0.6], "repeats": 2}
    assert [(t.torque, t.repeat, t.side) for t in plan.targets[1:4]] == [
        (0.4, 1, "backdrive"),
        (0.4, 2, "drive"),
        (0.4, 2, "backdrive"),
    ]
    assert len(plan.targets) == 8
    for torques, repeats in (([0.4], 0), ([0.4], -1), ([0.4], 1.0), ([0.4], True), ([math.nan], 1), (["1"], 1)):
        with pytest.raises(InputError, match="are not possible"):
            plan.restore({"torques": torques, "repeats": repeats})
    assert plan.state() == {"torques": [0.4, -0.6], "repeats": 2}


def test_the_heading_of_a_section_leaves_units_as_they_are(qtbot):
    section = fields.Section("Motor torques [N·m]")
    qtbot.addWidget(section)
    assert section.heading.text() == "MOTOR TORQUES [N·m]"
