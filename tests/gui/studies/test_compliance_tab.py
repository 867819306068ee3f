"""The Compliance tab of Explore: a picture at first sight, knobs that redraw it, a push, files for Gazebo."""

from dataclasses import replace

import numpy as np
import pytest

from bench_gui import file_dialogs
from bench_gui.controller import Controller
from bench_gui.studies.compliant.compute import BEGIN, PUSH, SINE, STEP, ComplianceJob, simulate
from bench_gui.studies.compliant.form import ComplianceForm
from bench_gui.studies.compliant.plots import EQUILIBRIUM, LINK, MOTOR_1, MOTOR_2, PUSHED
from bench_gui.studies.compliant.tab import ComplianceTab
from core.base.units import DEGREES, RADIANS
from core.studies.compliant.array import JointArray, NamedJoint
from core.studies.compliant.elastic import ACTUATORS, AwasII, QbMove, Sea
from core.studies.compliant.gazebo import robot_urdf
from core.studies.compliant.joint import CompliantJoint
from core.studies.compliant.modes import Mode


@pytest.fixture
def tab(qtbot, tmp_path, monkeypatch):
    """The tab alone, in sight, its processes listened to as the window does."""
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path))
    controller = Controller()
    shown = ComplianceTab(controller)
    for widget in (shown, shown.settings, shown.buttons):
        qtbot.addWidget(widget)
        widget.show()
    shown.resize(900, 400)
    yield shown
    controller.close()


@pytest.fixture
def form(qtbot):
    made = ComplianceForm(RADIANS)
    qtbot.addWidget(made)
    return made


def settled(qtbot, tab):
    """Wait for the motion of what is set now."""

    def there():
        assert tab.view is not None
        assert not tab._waiting.isActive()
        assert not tab._simulation.active
        assert tab.view.job == tab.form.job()

    qtbot.waitUntil(there)
    return tab.view


def shown(tab):
    """The motion of what is set, computed here instead of in the tab's process."""
    view = simulate(tab.form.job(), None)
    tab._show(view)
    return view


def choose(box, data):
    box.setCurrentIndex(box.findData(data))


def test_at_first_sight_there_are_curves_and_a_motion_that_follow_a_change(qtbot, tab):
    assert tab.view is None
    tab.entered()
    assert [chart.empty_text for chart in tab.motion.over_time] == ["Simulating the joint…"] * 2
    first = settled(qtbot, tab)
    assert first.job.joint.actuator == QbMove()
    assert first.job.mode is Mode.PID_EQ_PRES
    assert first.job.second == QbMove().soft_preset
    assert set(tab.motion.keys) == {LINK, MOTOR_1, MOTOR_2, EQUILIBRIUM, "goal", PUSHED}
    springs = {"spring 1", "spring 2", "springs on the link"}
    assert {curve.name for curve in tab.curves.torque.seen()} == springs
    assert {button.text() for button in tab.curves.legend.buttons.values()} == springs
    assert "stiffness" in tab.status.text()
    assert tab.play_button.isEnabled()
    tab.entered()
    assert not tab._waiting.isActive(), "entering again computes nothing anew"
    # Curves at once, the motion soon.
    choose(tab.form.kind, AwasII.name)
    assert {curve.name for curve in tab.curves.torque.seen()} == {"springs on the link"}
    assert tab.curves.stiffness.bottom == ("Pivot position", "m")
    assert settled(qtbot, tab) is not first
    assert MOTOR_2 not in tab.motion.keys, "the adjuster's position is no angle"


def test_what_is_drawn_is_the_actuator_s_own_law(tab):
    """Torque at the preset over the deflection; stiffness at rest over the preset, with a mark at the one set."""
    tab.curves.show_actuator(tab.form.actuator, tab.form.preset)
    link = next(curve for curve in tab.curves.torque.seen() if curve.name == "springs on the link")
    expected = QbMove().elastic_torque(*QbMove().references(0.0, 0.2), link.x).link
    assert link.y == pytest.approx(expected, abs=1e-12)
    stiffness, mark = tab.curves.stiffness.seen()
    assert stiffness.y == pytest.approx(QbMove().elastic_torque(stiffness.x, -stiffness.x, 0.0).stiffness, rel=1e-9)
    assert mark.x.tolist() == [0.2]
    tab.form.behave("stiff")
    assert tab.curves.stiffness.seen()[1].x.tolist() == [0.6]


@pytest.mark.parametrize("kind", ACTUATORS)
def test_each_actuator_is_offered_with_its_own_parameters(form, kind):
    choose(form.kind, kind)
    actuator = form.actuator
    expected = Sea(stiffness=200.0) if kind == "sea" else ACTUATORS[kind]()
    assert actuator == expected, "no field rounds a default away"
    assert set(form._parameters) == set(actuator.parameters())
    for name in actuator.parameters():
        box = form._parameters[name]
        assert box.toolTip()
        assert box.accessibleName()
        box.setValue(0.9 * box.value())
        wanted = {other: p.value * (0.9 if other == name else 1.0) for other, p in actuator.parameters().items()}
        found = form.actuator.parameters()
        assert {other: found[other].value for other in wanted} == pytest.approx(wanted, rel=1e-3)
        box.setValue(box.value() / 0.9)


@pytest.mark.parametrize("mode", Mode, ids=lambda mode: mode.name.lower())
def test_a_mode_asks_for_its_own_references(form, mode):
    for kind in ACTUATORS:
        choose(form.kind, kind)
        choose(form.mode, int(mode))
        first, second = form.names
        shown = [[box for _, box in rows if not box.isHidden()] for rows in (form._first, form._second)]
        assert [len(boxes) for boxes in shown] == [1, 1 if second is not None else 0]
        for name, boxes in zip((first, second), shown, strict=True):
            if name is not None:
                assert boxes[0].suffix().strip() == name.unit
        job = form.job()
        assert (job.mode, job.joint.actuator.name) == (mode, kind)


def test_a_pivot_stays_on_its_lever(form):
    for kind in ("sea", "awas2"):
        choose(form.kind, kind)
    assert form.second == AwasII().soft_preset
    form._parameters["lever"].setValue(0.01)
    form._second[2][1].setValue(0.04)
    assert form.second == pytest.approx(form.actuator.preset_limits()[1], abs=1e-4)


@pytest.mark.parametrize(
    ("kind", "soft", "stiff"), [("sea", 200.0, 400.0), ("awas2", 0.005, 0.04), ("bavs", 0.001, 0.22)]
)
def test_soft_and_stiff_are_the_paper_s(form, kind, soft, stiff):
    """Seed 003, section 4.1."""
    choose(form.kind, kind)
    for behaviour, expected in (("stiff", stiff), ("soft", soft)):
        form.behave(behaviour)
        assert (form.actuator.stiffness if kind == "sea" else form.second) == expected


def test_a_command_is_equation_12_and_a_hand_pushes_for_a_fifth_of_the_time():
    job = ComplianceJob(
        joint=CompliantJoint(), mode=Mode.PID_EQ_PRES, shape=STEP, amplitude=0.5, speed=0.8, second=0.3, push=0.2,
        duration=4.0,
    )  # fmt: skip
    during = (job.time >= PUSH[0] * 4.0) & (job.time < PUSH[1] * 4.0)
    assert np.array_equal(job.external_torque, 0.2 * during)
    view = simulate(job, None)
    before, after = (np.flatnonzero(during)[place] for place in (0, -1))
    assert view.motion.position[after] - view.motion.position[before] > 0.05
    assert view.equilibrium[before] == pytest.approx(0.5, abs=1e-3)
    since = np.maximum(job.time - BEGIN, 0.0)
    assert replace(job, shape=SINE).reference_1 == pytest.approx(0.5 * np.sin(0.8 * since))


def test_units_change_what_is_shown_and_nothing_else(tab):
    tab.curves.show_actuator(tab.form.actuator, tab.form.preset)
    view = shown(tab)
    tab._controller.set_angle_unit(DEGREES)
    assert tab.view is view
    assert (tab.motion.angle.left, tab.curves.torque.bottom[1]) == (("Angle", "°"), "°")
    assert "°" in tab.status.text()


def test_hands_turn_with_the_motion(tab):
    view = shown(tab)
    tab.motion.show_moment(2.0)
    assert tab.motion._hands[LINK] in tab.motion.dial.drawn
    x, y = tab.motion._hands[LINK].getData()
    at = view.motion.position[np.searchsorted(view.motion.time, 2.0)]
    assert np.arctan2(x[1], -y[1]) == pytest.approx(at)
    tab.play()
    assert tab._frames.isActive()
    tab.hide()
    assert not tab._frames.isActive(), "nobody looks"


def test_what_fails_is_said_where_the_motion_would_be(tab):
    tab._fail("compliant joint: the motion becomes unstable")
    assert tab.status.text() == "Compliant joint: the motion becomes unstable"
    assert tab.status.property("role") == "fault"


def test_the_joint_is_written_for_gazebo(qtbot, tab, tmp_path, monkeypatch):
    monkeypatch.setattr(file_dialogs, "ask", lambda *_, **__: ([str(tmp_path / "gazebo")], ""))
    (tmp_path / "gazebo").mkdir()
    with qtbot.waitSignal(tab._controller.journal.said) as said:
        tab.ask_gazebo()
    assert said.args[0].level == "info", said.args
    job = tab.form.job()
    named = NamedJoint(name="joint", joint=job.joint, mode=job.mode)
    written = (tmp_path / "gazebo" / "qbmove_bench.urdf").read_text("utf-8")
    assert written == robot_urdf(JointArray(name="qbmove_bench", joints=(named,)))


def test_curves_and_motion_are_exported_as_drawn(qtbot, tab):
    tab.curves.show_actuator(tab.form.actuator, tab.form.preset)
    view = shown(tab)
    qtbot.waitUntil(lambda: tab.motion.angle.view.viewRange()[0][1] > view.motion.time[-1])
    springs = tab.curve_export.contents()
    assert [panel.bottom for panel in springs.panels] == ["Link − equilibrium [rad]", "Stiffness preset [rad]"]
    assert [panel.log for panel in springs.panels] == [False, True]
    motion = tab.tools.export.contents()
    assert [panel.left for panel in motion.panels] == ["Angle [rad]", "On the link [N·m]"]
    link = next(curve for curve in motion.panels[0].curves if curve.name == LINK)
    assert np.array_equal(link.y, view.motion.position)
    assert motion.title == view.job.title


def test_everything_is_named_and_offered(tab):
    texts = [spec.text.replace("&", "") for spec in tab.actions_offered()]
    assert len(set(texts)) == len(texts) >= 5
    needs_motion = {"Play the compliant joint's motion", "Export the joint's motion…"}
    for motion_there in (False, True):
        if motion_there:
            shown(tab)
        refused = {s.text.replace("&", "") for s in tab.actions_offered() if s.enabled is not None and not s.enabled()}
        assert refused == (set() if motion_there else needs_motion)
    assert tab.tip
    assert tab.help_page == "compliance"
