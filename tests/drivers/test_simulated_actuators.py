"""Other actuators behind the simulated servo's electronics: their own motion, released when it matters, and on record.

A qbMove, SEA, AwAS-II or BAVS is told its equilibrium (seed 003, operation mode 6), a Webots Servo its target (seed
002, section 3.42).
"""

import json
import math

import pytest

from core.base.errors import IdentificationError, InputError
from core.identification.runs.conditions import UnusableRuns, as_own_motor, check_runs
from core.identification.search.objective import Batch
from core.motion.recording import RunHeader
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from core.servo.catalogue import load_servo
from core.servo.shipped import load_model
from core.studies.compliant.elastic import ACTUATORS, QbMove
from core.studies.compliant.files import CompliantUnit, read_unit, unit_to_json, write_unit
from core.studies.compliant.motor import Motor
from core.studies.compliant.stepper import CompliantStepper
from core.studies.webots.fields import ServoFields
from core.studies.webots.stepper import WebotsStepper
from drivers.clock import VirtualClock
from drivers.errors import AddressError
from drivers.recorder import Recorder, record_inline
from drivers.registry import family, resolve
from drivers.servo import PositionGoal, ServoState, TorqueGoal
from drivers.simulated import CompliantPlant, SimulatedServo, WebotsActuator
from drivers.simulated.actuators import ACTUATOR_TITLES
from drivers.simulated.plant import IDEAL, TICK
from sessions import Session
from sessions.exporters import export_bam, export_csv
from sessions.importers import import_paths
from tests.waiting import LIMIT, wait_until

BENCH = Bench(mass=0.3, length=0.1)
GRAVITY = BENCH.gravity_torque
SPEC = load_servo("mx106")
SETTINGS = load_model("mx106", "m6").default_settings()
OTHERS = [name for name in ACTUATOR_TITLES if name != "servo"]
REST = (2 * Motor().friction + 0.025) / GRAVITY + 0.005
"""Sine of the largest angle at which dry friction of two motors and the link holds the pendulum, and what it creeps."""


def connected(name, preset="stiff", **options):
    options.setdefault("imperfections", IDEAL)
    actuator = resolve(f"simulated?actuator={name}&preset={preset}").actuator
    servo = SimulatedServo("mx106", clock=VirtualClock(), bench=BENCH, actuator=actuator, **options)
    servo.connect()
    return servo


def after(servo, seconds):
    """The reading so much later; a plant that is not looked at for a second loses that time."""
    end = servo.clock.now() + seconds
    while servo.clock.now() < end - 1e-9:
        servo.clock.wait_until(min(end, servo.clock.now() + 0.5), lambda: False)
        reading = servo.read()
    return reading


def recorded(servo, sink, trajectory="sin_time_square", duration=1.0):
    header = RunHeader(trajectory=trajectory, bench=BENCH, settings=SETTINGS, rate=200.0)
    return record_inline(servo, make_trajectory(trajectory, duration), header, sink)


# Addresses.


def test_an_address_names_the_actuator_and_its_preset():
    assert resolve("simulated:mx106").actuator is None
    assert resolve("simulated:mx106?actuator=servo").actuator is None
    assert resolve("simulated:mx106?actuator=webots").actuator == WebotsActuator()
    qbmove = resolve("simulated:mx106?actuator=qbmove&preset=0.25").actuator
    assert qbmove == CompliantPlant(unit=CompliantUnit(actuator=QbMove()), preset=0.25)
    for name, kind in ACTUATORS.items():
        soft, stiff = (resolve(f"simulated?actuator={name}&preset={p}").actuator.preset for p in ("soft", "stiff"))
        assert (soft, stiff) == ((kind.soft_preset, kind.stiff_preset) if kind.preset_unit else (None, None))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("actuator=spring", "unknown actuator 'spring'; there are servo, webots, sea, awas2, bavs, qbmove"),
        ("actuator=sea&preset=0.2", "a SEA has no stiffness preset"),
        ("actuator=webots&preset=0.2", "a Webots Servo has no stiffness preset"),
        ("actuator=qbmove&preset=medium", "soft, stiff or a number, not 'medium'"),
        ("actuator=qbmove&preset=0.9", "within 0 … 0.8"),
        ("actuator=nowhere.json", "nowhere.json: cannot be read"),
    ],
)
def test_an_address_that_is_not_possible_says_why(options, reason):
    with pytest.raises(AddressError, match=reason):
        resolve(f"simulated?{options}")


def test_the_form_offers_every_actuator():
    fields = {field.name: field for field in family("simulated").fields}
    assert [value for _, value in fields["actuator"].choices] == list(ACTUATOR_TITLES)
    address = family("simulated").address({"actuator": "bavs", "preset": "0.1"})
    assert address == "simulated:mx106?actuator=bavs&preset=0.1"
    assert resolve(address).actuator.description == "preset 0.1 rad"


def test_an_identified_actuator_is_read_from_its_file(tmp_path):
    unit = CompliantUnit(actuator=QbMove(k1=0.01, a1=6.0), motor=Motor(inertia=0.02), link_damping=0.1)
    file = write_unit(tmp_path / "mine.json", unit, {"who": "a test"})
    assert read_unit(file) == unit
    assert resolve(f"simulated?actuator={file}&preset=0.3").actuator == CompliantPlant(unit=unit, preset=0.3)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"format": "other"}, '"format" must be "servobench-compliant"'),
        ({"version": 2}, "version 2 is unknown"),
        ({"actuator": "own"}, "no actuator 'own'"),
        ({"parameters": {"a1": math.nan}}, "a1 = nan must be a finite number"),
        ({"parameters": {"weight": 1.0}}, "no parameter named 'weight'"),
        ({"motor": {"inertia": -1.0}}, "inertia = -1.0 must be positive"),
        ({"motor": {"colour": 1.0}}, "colour"),
        ({"link": {"mass": 1.0}}, "link has no 'mass'"),
        ({"controller": [1.0]}, "controller must be an object"),
    ],
)
def test_a_file_that_is_no_actuator_says_why(tmp_path, change, reason):
    file = tmp_path / "bad.json"
    file.write_text(json.dumps(unit_to_json(CompliantUnit(actuator=QbMove())) | change))
    with pytest.raises(InputError, match=reason) as caught:
        read_unit(file)
    assert str(file) in str(caught.value)


# Motion.


def own_stepper(name):
    """What `core` makes of the same actuator."""
    if name == "webots":
        values = load_model("mx106", "m6").values
        fields = ServoFields(
            max_velocity=SPEC.no_load_speed, max_force=SPEC.stall_torque, damping_constant=values["friction_viscous"]
        )
        return WebotsStepper(fields, BENCH, TICK, armature=values["armature"])
    unit = CompliantUnit(actuator=ACTUATORS[name]())
    return CompliantStepper(unit.joint(BENCH), TICK, preset=ACTUATORS[name].stiff_preset)


@pytest.mark.parametrize("name", OTHERS)
def test_it_moves_as_core_simulates(name):
    servo, stepper = connected(name), own_stepper(name)
    begin = servo.plant._ticks
    for _ in range(begin):
        stepper.step(0.0, False)
    for goal in (0.4, -0.3, None):
        if goal is None:
            servo.release()
        else:
            servo.command(PositionGoal(goal))
        position = after(servo, 0.3).position
        for _ in range(300):
            stepper.step(stepper.position if goal is None else goal, goal is not None)
        assert position == pytest.approx(stepper.position, abs=1e-12)
    reading = after(servo, 0.1)
    assert (reading.current, reading.duty_cycle) == (0.0, 0.0)


REPEATED = pytest.mark.exhaustive("the other actuators")


@pytest.mark.parametrize(
    "name", [name if name in ("webots", "qbmove") else pytest.param(name, marks=REPEATED) for name in OTHERS]
)
def test_a_torque_goal_is_the_torque_of_all_motors(name):
    """G·sin q = τ at rest, within the dry friction of motors and link."""
    servo = connected(name)
    for _ in range(1000):
        servo.command(TorqueGoal(0.15))
        reading = after(servo, 0.02)
    assert math.sin(reading.position) == pytest.approx(0.15 / GRAVITY, abs=REST)
    assert reading.position > 0.2
    # Full torque of all motors is the catalogue servo's full current.
    strength = SPEC.stall_torque
    if name in ACTUATORS:
        strength = ACTUATORS[name].motors * Motor().max_torque
    assert reading.current == pytest.approx(0.15 / strength * SPEC.max_current, rel=1e-9)


# Safety.


def test_an_emergency_stop_releases_it(warm):
    address = "simulated:mx106?actuator=qbmove&preset=stiff"
    header = RunHeader(trajectory="steps", bench=BENCH, settings=SETTINGS, rate=100.0)
    with Recorder(address) as recorder:
        recorder.start()
        recorder.record(make_trajectory("steps", 600.0), header)
        wait_until(lambda: recorder.status.done > 5 and abs(recorder.latest()["current"]) > 0.01, recorder.beat)
        recorder.emergency_stop()
        assert recorder.wait(LIMIT).exit_status == "abort"
        wait_until(lambda: recorder.state is ServoState.FAULT)
        wait_until(lambda: recorder.latest()["current"] == 0.0 and not recorder.latest()["torque_enable"])


# What a recording keeps.


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Sessions of a servo's own motor, a Webots Servo and a qbMove at 0.3 rad, in this order."""
    home, found = tmp_path_factory.mktemp("actuators"), []
    for name, preset in (("servo", "soft"), ("webots", "soft"), ("qbmove", "0.3")):
        found.append(Session.create(home / name))
        assert recorded(connected(name, preset), found[-1].sink()).exit_status == "success"
    return found


def runs_of(sessions):
    return [run for session in sessions for run in session.load_for_fit()]


def settings_of(sessions):
    return [(run.settings.actuator, run.settings.preset) for run in runs_of(sessions)]


KEPT = [(None, None), ("webots", None), ("qbmove", 0.3)]


@pytest.mark.parametrize("export", [export_csv, export_bam])
def test_a_session_and_its_exports_keep_what_moved_the_shaft(made, tmp_path, export):
    assert settings_of(made) == KEPT
    assert {"actuator": "qbmove", "preset": 0.3}.items() <= runs_of(made)[2].conditions().items()
    again = []
    for session in made:
        export(session, None, tmp_path / "out" / session.path.name)
        import_paths([tmp_path / "out" / session.path.name], tmp_path / session.path.name)
        again.append(Session.open(tmp_path / session.path.name))
    assert settings_of(again) == KEPT


def test_a_servos_own_runs_are_written_as_they_always_were(made):
    own = runs_of(made)[0].settings
    assert set(own.to_json()) == {"servo", "kp", "ki", "kd", "supply_voltage"}


def test_no_servo_model_is_fitted_to_another_actuator(made):
    own, webots, qbmove = runs_of(made)
    model = load_model("mx106", "m1")
    check_runs([own])
    with pytest.raises(UnusableRuns, match=r"qbmove.*bench compliant identify") as caught:
        check_runs([own, qbmove])
    assert caught.value.runs == (qbmove.id,)
    with pytest.raises(IdentificationError, match=r"webots.*bench webots fit"):
        Batch(model, [own, webots])
    # To see how far a servo model is from it, a run has to be called a servo's in so many words.
    check_runs([own, as_own_motor(qbmove)])
