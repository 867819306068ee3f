"""Curves and tables of the studies by their names, each with a number that no other has. Nothing is computed."""

from dataclasses import fields, replace
from types import SimpleNamespace

import numpy as np
import pytest

from bench_gui.render.screen import PlotView
from bench_gui.studies.arm.compute import FITTED, OWN, ArmTrack, ArmView
from bench_gui.studies.arm.plots import ArmPlots
from bench_gui.studies.arm.table import columns_of, rows_of, table_panel
from bench_gui.studies.compliant.compute import STEP, ComplianceJob, ComplianceView
from bench_gui.studies.compliant.plots import EQUILIBRIUM, LINK, MOTOR_1, MOTOR_2, ComplianceMotion
from bench_gui.studies.compliant.tab import _summary
from bench_gui.studies.learning.plots import LearningPlots
from bench_gui.studies.webots.form import FIRST as NODE
from core.base.units import DEGREES, RADIANS, significant
from core.contact.laws import Stribeck
from core.studies.compliant.joint import CompliantJoint, JointMotion
from core.studies.compliant.learning import Iteration, LearningLaw
from core.studies.compliant.modes import Mode
from core.studies.stiction.documents import experiment_plot
from core.studies.stiction.exploring import HOLD, INTEGRAL, VELOCITY, StictionJob, StictionTrace, StictionView
from core.studies.stiction.exploring import TORQUE as TORQUE_BELOW
from core.studies.webots.documents import scene_plot
from core.studies.webots.experiments import Scene, Shown
from core.studies.webots.trace import COLUMNS, Trace

TIME = np.arange(5.0)
UNITS = pytest.mark.parametrize("unit", [RADIANS, DEGREES], ids=lambda unit: unit.name)


def level(value):
    return np.full(len(TIME), value)


def pair(one, other):
    """Two columns."""
    return np.column_stack([level(one), level(other)])


@pytest.fixture
def shown(qtbot):
    """Put a widget of plots into a window of its own."""

    def show(plots, unit=RADIANS):
        qtbot.addWidget(plots)
        if unit is not None:
            plots.set_unit(unit)
        plots.show()
        return plots

    return show


def levels(chart):
    """The one value of each curve, by its name."""
    return {curve.name: pytest.approx(curve.y[0]) for curve in chart.seen() if np.ptp(curve.y) == 0.0}


@UNITS
def test_a_compliant_joint_s_curves_are_its_own(shown, unit):
    names = [field.name for field in fields(JointMotion)]
    motion = JointMotion(**{name: TIME if name == "time" else level(0.1 * (1 + names.index(name))) for name in names})
    job = ComplianceJob(
        joint=CompliantJoint(), mode=Mode.PID_EQ_PRES, shape=STEP, amplitude=0.5, speed=1.0, second=0.3, push=0.0,
        duration=4.0,
    )  # fmt: skip
    plots = shown(ComplianceMotion(), unit)
    plots.show_view(ComplianceView(job=job, motion=motion, equilibrium=level(-0.7)))
    angles = {"goal": motion.reference_1, EQUILIBRIUM: level(-0.7), MOTOR_1: motion.motor_1, MOTOR_2: motion.motor_2}
    expected = {name: values[0] * unit.per_radian for name, values in {**angles, LINK: motion.position}.items()}
    assert levels(plots.angle) == expected
    said = f"Before the push: link at {significant(motion.position[0] * unit.per_radian, 3)} {unit.symbol}, "
    assert _summary(plots._view, unit) == f"{said}stiffness {significant(motion.stiffness[0], 3)} N·m/rad."
    torques = {"torque of the actuator": motion.link_torque[0], "push of the hand": motion.external_torque[0]}
    assert levels(plots.torque) == torques


@UNITS
def test_a_learning_s_curves_are_those_of_their_joint(shown, unit):
    """Errors in mrad whatever the unit, those by iteration on a logarithmic axis."""
    first, second = (
        Iteration(
            number=number, equilibrium=pair(0.3, 0.4), link_equilibrium=pair(0.8, 0.9),
            position=pair(0.05 * number, 0.06 * number), error=pair(-0.02 / number, 0.03 / number),
        )
        for number in (1, 2)
    )  # fmt: skip
    law = LearningLaw(gain=0.5, decay=5.0, tolerance=0.015, iterations=4)
    job = SimpleNamespace(law=law, reference=SimpleNamespace(time=TIME, angles=pair(0.7, -0.6)))
    plots = shown(LearningPlots(), unit)
    plots.show_learning(job, (first, second), second)
    for place, chart in enumerate((plots.joint_1, plots.joint_2)):
        angles = {"Reference": (0.7, -0.6), "Input": (0.3, 0.4), "Link": (0.1, 0.12), "Link at first": (0.05, 0.06)}
        assert levels(chart) == {name: both[place] * unit.per_radian for name, both in angles.items()}
    errors = {"Error, joint 1": -10.0, "Error, joint 2": 15.0}
    assert levels(plots.error) == {**errors, "Tolerance, upper": 15.0, "Tolerance, lower": -15.0}
    by_iteration = {curve.name: curve.y for curve in plots.by_iteration.seen()}
    np.testing.assert_allclose(by_iteration["Largest error, joint 1"], [20.0, 10.0])
    np.testing.assert_allclose(by_iteration["Largest error, joint 2"], [30.0, 15.0])
    np.testing.assert_allclose(by_iteration["Tolerance"], 15.0)


@UNITS
def test_a_webots_servo_s_curves_are_its_own(shown, unit):
    node = replace(NODE, min_position=-1.1, max_position=1.2, min_stop=-1.4, max_stop=1.5)
    numbers = {name: 0.1 * (2 + place) for place, name in enumerate(COLUMNS)}
    trace = Trace(name="x", fields=node, **{**{n: level(v) for n, v in numbers.items()}, "time": TIME})
    plots = shown(PlotView(("Position", "Velocity", "Force"), shares=(6, 4, 6)), None)
    scene = Shown(scene=Scene(fields=node), trace=trace, spring=level(-2.0), damper=level(-3.0), push=level(4.0))
    plots.show_plot(scene_plot(scene, unit))
    place, speed, load = plots.charts
    limits = {"lower soft limit": -1.1, "upper soft limit": 1.2, "lower stop": -1.4, "upper stop": 1.5}
    position = {"position": numbers["position"], "target": numbers["target"], **limits}
    assert levels(place) == {name: value * unit.per_radian for name, value in position.items()}
    speeds = {"velocity": numbers["velocity"], "Vc": numbers["wanted_velocity"]}
    assert levels(speed) == {name: value * unit.per_radian for name, value in speeds.items()}
    forces = {"motor": numbers["motor_force"], "force control": numbers["force"]}
    assert levels(load) == {**forces, "spring": -2.0, "damper": -3.0, "push": 4.0}


@pytest.mark.parametrize(("experiment", "below"), [(INTEGRAL, TORQUE_BELOW), (HOLD, VELOCITY)])
def test_an_experiment_s_curves_are_those_of_their_friction(shown, experiment, below):
    """A torque keeps its unit, a velocity is shown in degrees."""
    law = Stribeck(static=2.5, coulomb=0.4, breakaway_speed=0.06, viscous=4.5)
    job = StictionJob(law=law, stiffness=5e3, damping=50.0, step=1e-3, inertia=0.2, experiment=experiment)
    traces = tuple(
        StictionTrace(name=name, time=TIME, position=level(angle), below=level(other))
        for name, angle, other in (("elastoplastic", 0.3, -0.4), ("sign", 0.5, 0.6))
    )
    goal = np.full(2, 0.9) if experiment == INTEGRAL else None
    view = StictionView(job=job, below=below, goal=goal, traces=traces, text="")
    plots = shown(PlotView(("Angle", "Torque or velocity")), None)
    plots.show_plot(experiment_plot(view, DEGREES))
    angle, other = plots.charts
    degrees = DEGREES.per_radian
    angles = {"elastoplastic": 0.3, "sign()": 0.5, **({"goal": 0.9} if goal is not None else {})}
    assert levels(angle) == {name: value * degrees for name, value in angles.items()}
    if below == VELOCITY:
        assert levels(other) == {"elastoplastic": -0.4 * degrees, "sign()": 0.6 * degrees}
        assert other.left == ("Velocity", "°/s")
    else:
        static = {"+ static friction": 2.5, "− static friction": -2.5}
        assert levels(other) == {"elastoplastic": -0.4, "sign()": 0.6, **static}
        assert other.left == ("Torque", "N·m")


def arm_track(friction, origin, error, **own):
    return ArmTrack(
        name=f"{friction} {origin}", friction=friction, origin=origin, angles=pair(0.1 * error, 0.2 * error),
        tip=pair(0.3 * error, 0.4 * error), joints_mrad=(error, 3.0 * error), tip_mm=5.0 * error, **own,
    )  # fmt: skip


@UNITS
def test_an_arm_s_curves_and_errors_are_those_of_their_joint(shown, unit):
    tracks = (arm_track("m1", FITTED, 2.0), arm_track("m6", OWN, 1.5))
    view = ArmView(
        path="Circle", gain="low, kp 8", time=TIME, goal=pair(0.01, 0.02), goal_tip=pair(0.03, 0.04),
        reference=pair(0.05, 0.06), reference_tip=pair(0.07, 0.08), rest=np.zeros((3, 2)), tracks=tracks,
    )  # fmt: skip
    plots = shown(ArmPlots(), unit)
    plots.show_view(view, measured=False)
    for place, chart in enumerate((plots.shoulder, plots.elbow)):
        angles = {"goal": (0.01, 0.02), "true": (0.05, 0.06)}
        angles |= {track.title: (track.angles[0, 0], track.angles[0, 1]) for track in tracks}
        assert levels(chart) == {name: both[place] * unit.per_radian for name, both in angles.items()}
    away = {track.title: 1e3 * np.abs(track.angles - view.reference).mean() for track in tracks}
    assert levels(plots.error) == away
    tips = {curve.name: (curve.x[0], curve.y[0]) for curve in plots.plane.seen() if curve.name}
    assert tips["goal"] == (0.03, 0.04)
    assert tips["true"] == (0.07, 0.08)
    assert tips[tracks[0].title] == pytest.approx((0.6, 0.8))
    titles = [column.title for column in columns_of([view])]
    assert titles == ["Path", "Gain", tracks[0].title, tracks[1].title]
    ((path, gain, *cells),) = rows_of([view])
    assert (path, gain) == ("Circle", "low, kp 8")
    assert [cell.bold for cell in cells] == [False, True]
    # A model that diverges is never the best.
    lost = arm_track("m4", OWN, float("nan"))
    ((_, _, *cells),) = rows_of([replace(view, tracks=(lost, *tracks))])
    assert [cell.bold for cell in cells] == [False, False, True]
    panel = table_panel([view])
    assert panel.headings == ("Path", "Gain", "Model", "Error [mrad]", "Shoulder [mrad]", "Elbow [mrad]", "Tip [mm]")
    assert panel.rows[0] == ("Circle", "low, kp 8", tracks[0].title, tracks[0].mae_mrad, 2.0, 6.0, 10.0)
