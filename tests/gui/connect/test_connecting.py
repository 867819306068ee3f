"""Setting up the bench: presets, undo, the difference before it is written, angles of servo and bench."""

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QUndoStack

from bench_gui.connect.bench.presets import NAME, Preset, Presets, paper_presets
from bench_gui.connect.connecting import LOAD, Connecting
from bench_gui.connect.servo.connection import ConnectionForm
from bench_gui.connect.servo.draft import Draft, entries_of
from bench_gui.shell.tasks import BENCH
from bench_gui.state.journal import Journal
from bench_gui.state.servo_link import ServoView
from bench_gui.state.setup import BenchSetup, Gains
from bench_gui.widgets.bench_form import BenchForm
from bench_gui.work.activity import Activities
from core.base.errors import InputError
from core.motion.trajectories import make_trajectory
from core.servo.catalogue import load_servo
from drivers.limits import Limits
from drivers.servo import ServoState

pytest_plugins = ["tests.gui.whole"]

MX106 = load_servo("mx106")


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path))
    return tmp_path


def at_once(save):
    save()


# The difference.


def draft(**edits):
    setup = BenchSetup(MX106)
    return Draft(spec=MX106, settings=setup.settings, limits=Limits.for_spec(MX106), edits=edits)


def entry(name, spec=MX106):
    return next(e for e in entries_of(spec, Limits.for_spec(spec)) if e.name == name)


def test_the_servos_own_value_is_no_edit_and_limits_that_contradict_each_other_are_refused(qapp):
    assert draft().edited(entry("kp"), 8.0).edited(entry("kp"), 16.0).edits == {}
    wrong = draft().edited(entry("lowest_position"), 1.0).edited(entry("highest_position"), 0.5)
    assert "lowest angle" in wrong.problem()
    with pytest.raises(InputError):
        wrong.wanted()
    same = wrong.edited(entry("highest_position"), 1.0)
    assert same.problem() == "the lowest angle must be below the highest"
    assert same.edited(entry("highest_position"), 1.01).problem() == ""
    # One edit alone is judged against the other limit of the servo.
    limits = replace(draft().limits, lowest_position=-1.0, highest_position=1.0)
    alone = replace(draft(), limits=limits)
    for name, taken, refused in (("lowest_position", 0.9, 1.0), ("highest_position", -0.9, -1.0)):
        assert alone.edited(entry(name), taken).problem() == ""
        assert alone.edited(entry(name), refused).problem() == same.problem()


def test_edits_outlive_a_run_that_wrote_other_gains(qapp):
    wanted = draft().edited(entry("kp"), 8.0).edited(entry("current"), 3.0)
    after = wanted.based_on(replace(wanted.settings, kp=32.0), wanted.settings, wanted.limits)
    assert (after.now(entry("kp")), after.value(entry("kp"))) == (32.0, 8.0)
    written = wanted.based_on(replace(wanted.settings, kp=8.0), wanted.settings, replace(wanted.limits, current=3.0))
    assert written.edits == {}


def test_gains_a_servo_does_not_tell_are_unknown(qapp):
    base = draft()
    silent = base.based_on(None, base.settings, base.limits)
    assert math.isnan(silent.now(entry("kp")))
    assert silent.value(entry("kp")) == 16.0
    assert silent.now(entry("current")) == base.limits.current


def test_only_gains_the_law_has_are_offered():
    names = {servo: {e.name for e in entries_of(load_servo(servo), Limits())} for servo in ("mx106", "erob80_100")}
    assert {"kp", "ki", "kd"} <= names["mx106"]
    assert "damping" not in names["mx106"]
    assert {"kp", "damping"} <= names["erob80_100"]
    assert not {"ki", "kd"} & names["erob80_100"]
    # A limit that is infinite is none; there is nothing to show.
    assert "torque" not in names["mx106"]


# The bench.


@given(
    st.floats(-3, 3),
    st.floats(-0.5, 0.5),
    st.sampled_from([1, -1]),
)
def test_angles_of_bench_and_servo_are_each_others_inverse(angle, offset, direction):
    setup = BenchSetup(MX106)
    setup.set_bench(angle_offset=offset)
    setup.edit_direction(direction)
    assert setup.bench_angle(angle) == pytest.approx(direction * (angle + offset))
    assert setup.servo_angle(setup.bench_angle(angle)) == pytest.approx(angle)
    # At the bench's 0 gravity has no torque, whichever way the servo counts.
    assert setup.bench.external_torque(setup.servo_angle(0.0)) == pytest.approx(0.0, abs=1e-12)


def test_the_direction_is_noted_with_the_run_and_changes_nothing_else(qapp):
    setup = BenchSetup(MX106)
    before = setup.header(make_trajectory("sin_sin"), "simulated:mx106")
    setup.edit_direction(-1)
    after = setup.header(make_trajectory("sin_sin"), "simulated:mx106")
    assert (before.bench, before.settings) == (after.bench, after.settings)
    assert before.provenance["positive_direction"] == "counter-clockwise"
    assert after.provenance["positive_direction"] == "clockwise"
    with pytest.raises(InputError):
        setup.edit_direction(0)


def test_another_servo_leaves_what_a_person_entered(qapp):
    setup = BenchSetup(MX106)
    setup.edit_bench("load", mass=0.2)
    setup.edit_bench("mounting error", angle_offset=0.03)
    setup.edit_direction(-1)
    before = setup.bench
    setup.suit(load_servo("xl330"))
    assert (setup.bench, setup.direction) == (before, -1)
    assert setup.kp == 400.0
    setup.edit_bench("a measured load", arm_mass=0.04, measured_inertia=0.002, measured_gravity_torque=0.3)
    setup.edit_typical_load()
    assert setup.bench == replace(BenchSetup(load_servo("xl330")).bench, angle_offset=0.03)


def test_another_servo_brings_its_typical_load_where_nobody_entered_one(qapp):
    setup = BenchSetup(MX106)
    setup.suit(load_servo("xl330"))
    assert setup.bench == BenchSetup(load_servo("xl330")).bench != BenchSetup(MX106).bench


def test_the_servo_that_is_too_weak_is_the_present_one(qtbot):
    """Also if neither load nor gain change with it."""
    setup, strong, weak = BenchSetup(MX106), load_servo("mx106"), load_servo("xl330")
    setup.set_bench(mass=1.7)
    setup.set_kp(weak.default_kp)
    form = BenchForm(setup)
    qtbot.addWidget(form)
    for spec in (weak, strong, weak):
        setup.suit(spec)
        setup.set_kp(weak.default_kp)
        assert form.weak.text() == spec.too_weak(setup.bench)


def test_a_load_that_another_servo_replaces_is_named_and_comes_back_by_undo(qapp):
    undo, said, settled, journal = QUndoStack(), [], [], Journal()
    journal.said.connect(lambda line: said.append(line.text))
    journal.settled.connect(settled.append)
    connecting = Connecting("simulated:mx106", undo, None, Activities(), journal)
    before = connecting.setup.bench
    connecting.choose_servo("simulated:xl330")
    assert len(said) == 1
    assert "Undo (Ctrl+Z) brings back 1.71 kg at 0.1 m" in said[0]
    settled.clear()
    connecting.setup.set_rate(100.0)
    assert settled == []
    undo.undo()
    assert settled == [LOAD], "the notice ends with its cause"
    assert (connecting.setup.bench, connecting.setup.spec.name) == (before, "xl330")
    connecting.choose_servo("simulated:mx106")
    assert len(said) == 1, "the load is the usual one of this servo"


def test_a_port_is_kept_while_another_kind_of_connection_is_looked_at(qtbot):
    form = ConnectionForm("simulated:mx106")
    qtbot.addWidget(form)
    form.show_address("dynamixel:/dev/ttyUSB7:3:2:57600")
    form.choose_family("simulated")
    form.choose_family("dynamixel")
    assert form.address() == "dynamixel:/dev/ttyUSB7:3:2:57600"


def test_undoing_a_gain_does_not_reach_another_servo(qapp):
    undo = QUndoStack()
    setup = BenchSetup(MX106, undo)
    setup.edit_kp(8.0)
    setup.suit(load_servo("xl330"))
    undo.undo()
    assert setup.kp == 400.0


@pytest.fixture
def window(whole):
    whole.window.show_task(BENCH)
    whole.controller.undo.clear()
    return whole.window


def test_edits_of_the_form_can_be_undone_one_by_one(window):
    form, controller = window.bench.form, window.controller
    before = controller.setup.now
    form.fields["mass"].setValue(0.75)
    form.fields["length"].setValue(0.2)
    form.offset.setValue(0.02)
    assert (controller.setup.bench.mass, controller.setup.bench.length) == (0.75, 0.2)
    assert controller.setup.bench.angle_offset == 0.02
    for _ in range(3):
        controller.undo.undo()
    assert controller.setup.now == before
    assert form.fields["mass"].value() == pytest.approx(before.bench.mass)
    assert not controller.undo.canUndo()


def test_a_measured_load_begins_with_that_of_the_mass_on_a_rod(window):
    form, setup = window.bench.form, window.controller.setup
    setup.set_bench(mass=1.0, length=0.15, arm_mass=0.12)
    inertia, torque = setup.bench.inertia, setup.bench.gravity_torque
    form.measured.click()
    assert not form.fields["mass"].isVisibleTo(window.bench.inspector)
    assert form.fields["measured_inertia"].value() == pytest.approx(inertia, abs=1e-6)
    form.fields["measured_inertia"].setValue(0.03)
    assert (setup.bench.inertia, setup.bench.gravity_torque) == (0.03, torque)
    # The page that records shows the same.
    (other,) = window.record.inspector.findChildren(BenchForm)
    assert other.fields["measured_inertia"].value() == 0.03
    form.point_mass.click()
    assert setup.bench.inertia == inertia


def test_the_drawing_is_the_bench_seen_from_where_one_stands(whole, window, monkeypatch):
    """Mounted 0.2 rad off, the servo reads −0.2 hanging down and the drawing hangs; clockwise is mirrored."""
    pendulum, controller, drawn = window.bench.pendulum, window.controller, []
    whole.until(pendulum.isVisible)
    lengths = []
    for length in (0.05, 0.1, 0.2, 0.5):
        controller.setup.set_bench(length=length)
        lengths.append(pendulum.geometry_of_rod()[1])
    assert lengths == sorted(lengths)
    assert lengths[0] < 0.8 * lengths[-1]
    monkeypatch.setattr(pendulum, "show_angle", lambda angle, unit, colour: drawn.append(angle))
    controller.setup.set_bench(angle_offset=0.2)
    view = ServoView(state=ServoState.READY, position=0.1)
    controller.servo.changed.emit(view)
    controller.setup.edit_direction(-1)
    controller.servo.changed.emit(view)
    assert drawn == pytest.approx([0.3, -0.3])
    controller.servo.changed.emit(ServoView())


# Presets.


def test_the_papers_loads_are_there_for_every_servo():
    names = [preset.name for preset in paper_presets(MX106)]
    assert names[:2] == ["Paper, Dynamixel: 0.5 kg at 0.1 m", "Paper, Dynamixel: 1 kg at 0.1 m"]
    assert len(names) == 9
    erob = paper_presets(load_servo("erob80_100"))
    assert [preset.bench["mass"] for preset in erob] == [3.1, 8.2, 12.7, 14.6, 19.6]
    assert {preset.bench["length"] for preset in erob} == {0.5}
    small = load_servo("xl330")
    assert all(9.81 * p.bench["mass"] * p.bench["length"] < small.stall_torque for p in paper_presets(small))


def test_a_preset_says_nothing_of_how_the_servo_is_mounted_unless_it_was_saved(qapp):
    setup = BenchSetup(MX106)
    setup.set_bench(angle_offset=0.1, measured_inertia=0.5, measured_gravity_torque=1.0)
    paper = paper_presets(MX106)[0].applied(setup.now, "mx106")
    assert paper.bench.angle_offset == 0.1
    assert paper.bench.inertia == pytest.approx(0.5 * 0.1**2)
    setup.set_gains(Gains(4.0))
    setup.edit_direction(-1)
    own = Preset.of("mine", setup)
    fresh = BenchSetup(MX106)
    assert own.applied(fresh.now, "mx106") == setup.now
    assert own.applied(fresh.now, "mx64").gains == fresh.gains


def test_presets_outlive_the_program(home, qapp):
    setup = BenchSetup(MX106)
    setup.set_bench(mass=0.321, angle_offset=-0.01)
    presets = Presets(QUndoStack(), at_once)
    presets.load()
    presets.save(Preset.of("  lab   bench ", setup))
    again = Presets(QUndoStack(), at_once)
    again.load()
    assert list(again.own) == ["lab bench"]
    assert again.own["lab bench"].applied(BenchSetup(MX106).now, "mx106") == setup.now


def test_every_change_of_the_presets_can_be_undone(home, qapp):
    undo = QUndoStack()
    presets = Presets(undo, at_once)
    presets.load()
    presets.save(Preset(name="a", bench={"mass": 1.0}))
    presets.save(Preset(name="b", bench={"mass": 2.0}))
    presets.rename("a", "c")
    presets.delete("b")
    assert list(presets.own) == ["c"]
    with pytest.raises(InputError, match="needs a name"):
        presets.rename("c", "  ")
    for expected in (["b", "c"], ["a", "b"], ["a"], []):
        undo.undo()
        assert list(presets.own) == expected
        kept = [entry["name"] for entry in json.loads((home / NAME).read_text())["benches"]]
        assert kept == expected


def test_a_name_that_is_taken_is_refused(home, qapp):
    presets = Presets(QUndoStack(), at_once)
    presets.load()
    for name in "ab":
        presets.save(Preset(name=name))
    with pytest.raises(InputError, match="exists"):
        presets.rename("a", "b")


HEAD = b'{"format": "servobench-benches", "version": 1, "benches": '


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"format": "servobench-benches", "version": 99, "benches": []}',
        HEAD + b'[{"name": "x", "bench": {"mass": "heavy"}}]}',
        HEAD + b'[{"name": "x", "bench": {"mass": NaN}}]}',
        HEAD + b'[{"name": "x", "bench": {"colour": 1}}]}',
        HEAD + b'[{"name": 1, "bench": {}}]}',
        HEAD + b'[{"name": "x", "bench": {}, "direction": 2}]}',
        HEAD + b'[{"name": "x", "bench": {}, "gains": {"kp": "a"}}]}',
    ],
)
def test_a_damaged_file_is_put_aside_and_said(home, qapp, content):
    (home / NAME).write_bytes(content)
    presets = Presets(QUndoStack(), at_once)
    said = []
    presets.notice.connect(said.append)
    presets.load()
    assert presets.own == {}
    assert len(said) == 1
    (aside,) = home.glob("benches.damaged-*.json")
    assert aside.read_bytes() == content
    assert aside.name in said[0]
    presets.save(Preset(name="new"))
    assert json.loads((home / NAME).read_text())["benches"][0]["name"] == "new"


def test_saving_choosing_renaming_and_deleting_in_the_window(whole, window):
    bar, setup = window.bench.presets, whole.controller.setup
    setup.set_bench(mass=0.44, length=0.12)
    whole.click(bar.save_button)
    assert bar.dialog.name.text() == "Dynamixel MX-106, 0.44 kg at 0.12 m"
    bar.dialog.name.setText("mine")
    whole.click(bar.dialog.accept_button)
    assert bar.choice.currentText() == "mine"
    whole.window.bench.form.fields["mass"].setValue(0.5)
    assert bar.choice.currentText() == "mine (changed)"
    choose(bar, "Paper, Dynamixel: 1.5 kg at 0.2 m")
    assert (setup.bench.mass, setup.bench.length) == (1.5, 0.2)
    assert not bar.delete_button.isEnabled()
    whole.controller.undo.undo()
    assert (setup.bench.mass, setup.bench.length) == (0.5, 0.12)
    choose(bar, "mine")
    assert setup.bench.mass == 0.44
    whole.click(bar.save_button)
    assert bar.dialog.remark.text() == "A bench of this name exists; saving replaces it."
    whole.click(bar.dialog.cancel_button)
    whole.click(bar.rename_button)
    assert bar.dialog.remark.text() == ""
    bar.dialog.name.setText("yours")
    whole.click(bar.dialog.accept_button)
    assert (bar.choice.currentText(), list(whole.controller.connecting.presets.own)) == ("yours", ["yours"])
    whole.click(bar.delete_button)
    assert list(whole.controller.connecting.presets.own) == []
    whole.until(lambda: not whole.controller.background.busy)


def choose(bar, name):
    bar.choice.setCurrentIndex(bar.choice.findData(name))
    bar.choice.activated.emit(bar.choice.currentIndex())
