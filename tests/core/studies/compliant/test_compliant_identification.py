"""Identification of compliant actuators: truth is simulated by the bench's own servo and recovered from its recordings.

Recordings are those of the simulated servo with its encoder's steps, reading times and finer steps of physics than the
search takes. Bars of the project: springs within 5 %, a motor's inertia and damping within 10 %.
"""

import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from core.base.errors import IdentificationError, ModelError
from core.motion.recording import RECORDED_CHANNELS, Recording, RunHeader
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from core.servo.shipped import load_model
from core.studies.compliant.elastic import ACTUATORS, AwasII, Bavs, QbMove, Sea
from core.studies.compliant.files import CompliantUnit, read_unit, write_unit
from core.studies.compliant.identification import CompliantRequest, identify_compliant, rigid_errors
from core.studies.compliant.joint import simulate_joint
from core.studies.compliant.modes import Mode
from core.studies.compliant.motor import Motor, Pid
from core.studies.compliant.runs import GROUPS, LINK, MOTOR, SPRINGS, CompliantRuns, unit_with, unknowns
from drivers.clock import VirtualClock
from drivers.recorder import MemorySink, record_inline
from drivers.recorder.loop import Loop
from drivers.simulated import CompliantPlant, Imperfections, SimulatedServo
from tests.kept import kept

LIGHT, HEAVY = Bench(mass=0.2, length=0.1), Bench(mass=0.4, length=0.1)
SETTINGS = load_model("mx106", "m6").default_settings()
RATE, LASTING = 50.0, 2.0
QBMOVE = CompliantUnit(actuator=QbMove(k1=0.0227, a1=6.7328, k2=0.0316, a2=5.2), motor=Motor(inertia=0.03, damping=0.4))
"""Springs near those of a qbMove's data sheet (NMMI/ILC-code), made unlike each other."""
others = pytest.mark.exhaustive("the other actuators and imperfections")
BOTH_WAYS = (make_trajectory("sin_time_square", LASTING), make_trajectory("lift_and_drop", LASTING, lift_time=1.0))
"""Fast oscillations to the left and the right, and a drop with the torque off."""


def kept_runs(folder):
    """The runs that most tests share."""
    (folder / "runs.pickle").write_bytes(pickle.dumps(recorded(QBMOVE, (0.1, 0.4))))


@cache
def qbmove_runs():
    return pickle.loads((kept(kept_runs) / "runs.pickle").read_bytes())


@cache
def recorded(unit, presets, benches=(LIGHT, HEAVY), imperfections=None):
    """Runs of every combination on the simulated bench."""
    runs = []
    for preset in presets:
        for bench in benches:
            for trajectory in BOTH_WAYS:
                plant = CompliantPlant(unit=unit, preset=preset)
                servo = SimulatedServo(
                    "mx106", clock=VirtualClock(), actuator=plant, seed=len(runs), imperfections=imperfections
                )
                servo.connect()
                settings = replace(SETTINGS, actuator=unit.actuator.name, preset=preset)
                header = RunHeader(trajectory=trajectory.name, bench=bench, settings=settings, rate=RATE)
                sink = MemorySink()
                with pytest.MonkeyPatch.context() as patch:
                    # No run follows; hanging out would be simulated for longer than the run.
                    patch.setattr(Loop, "_bring_back", lambda _: None)
                    result = record_inline(servo, trajectory, header, sink)
                assert result.exit_status == "success", result.reason
                runs.append(recording(f"{len(runs):03}", header, sink.rows))
    return tuple(runs)


def recording(identity, header, rows):
    channels = {channel.name: rows[channel.name].copy() for channel in RECORDED_CHANNELS}
    return Recording(
        id=identity, trajectory=header.trajectory, bench=header.bench, settings=header.settings, channels=channels
    )


def ideal_motion(unit, mode, preset, bench, goal, step=0.01):
    """A run without noise, simulated in a mode of the joint."""
    motion = simulate_joint(unit.joint(bench), mode, goal, 0.0 if preset is None else preset, step)
    channels = {
        "time": motion.time,
        "goal_position": np.asarray(goal, dtype=np.float64),
        "torque_enable": np.ones(len(goal), dtype=np.uint8),
        "position": motion.position,
    }
    settings = replace(SETTINGS, actuator=unit.actuator.name, preset=preset)
    return Recording(id=f"{preset}", trajectory="made", bench=bench, settings=settings, channels=channels)


def found(unit, runs, start=None, **request):
    begin = start or CompliantUnit(actuator=type(unit.actuator)(), motor=unit.motor, pid=unit.pid)
    request.setdefault("trials", 40)
    return identify_compliant(runs, CompliantRequest(start=begin, threads=1, **request))


def errors_of(unit, truth, names):
    ours, theirs = unknowns(unit).numbers(), unknowns(truth).numbers()
    return {name: ours[name] / theirs[name] - 1.0 for name in names}


def test_numbers_of_link_and_motor_have_units_bounds_and_groups():
    """Free numbers begin above 0: at a millionth of their upper bound at the least."""
    unit = CompliantUnit(
        actuator=Sea(), motor=Motor(inertia=0.02, damping=0.3, friction=0.0), pid=Pid(kp=90.0, ki=1.0, kd=4.0),
        link_damping=0.05, link_friction=20.0,
    )  # fmt: skip
    rows = {
        "link_damping": ("d", "N·m·s/rad", 0.05, 10.0, LINK),
        "link_friction": ("F", "N·m", 20.0, 5.0, LINK),
        "motor_inertia": ("J", "kg·m²", 0.02, 1.0, MOTOR),
        "motor_damping": ("D", "N·m·s/rad", 0.3, 50.0, MOTOR),
        "motor_friction": ("τ_f", "N·m", 0.0, 10.0, MOTOR),
        "motor_kp": ("k_p", "N·m/rad", 90.0, 1e4, MOTOR),
        "motor_kd": ("k_d", "N·m·s/rad", 4.0, 1e3, MOTOR),
    }
    for groups in ((LINK,), (MOTOR,), GROUPS):
        found = unknowns(unit, groups)
        for name, (symbol, text, value, upper, group) in rows.items():
            p = found[name]
            assert (p.symbol, p.unit, p.upper, p.frozen) == (symbol, text, upper, group not in groups), name
            least = 0.0 if p.frozen else 1e-6 * upper
            assert (p.lower, p.value) == (least, value if p.frozen else min(max(value, least), upper)), name


@pytest.mark.parametrize("name", ["link_damping", "link_friction"])
@pytest.mark.parametrize("value", [-1e-9, np.nan, np.inf])
def test_a_loss_that_no_link_has_is_refused(name, value):
    assert getattr(CompliantUnit(actuator=Sea(), **{name: 0.0}), name) == 0.0
    with pytest.raises(ModelError, match=f"{name} = .* must be a finite number of 0 or more"):
        CompliantUnit(actuator=Sea(), **{name: value})


def test_springs_of_a_qbmove_come_back():
    """Two presets and two loads, swings both ways: k1, a1, k2, a2 within 5 %, from the toolbox's defaults.

    Those are weaker by an order of magnitude: 12 to 17 times in k.
    """
    runs = qbmove_runs()
    result = found(QBMOVE, runs)
    off = errors_of(result.unit, QBMOVE, ("k1", "a1", "k2", "a2"))
    assert max(map(abs, off.values())) < 0.05, off
    assert result.evidence.warnings == ()
    # What is left is the encoder's rounding, on the runs that were held out too: half a step on average a quarter.
    step = 2.0 * np.pi / 4096
    assert result.validation_mae is not None
    assert result.validation_mae < 0.3 * step
    assert result.start_error > 100.0 * result.train_mae
    assert result.discretisation_error < 0.1 * result.train_mae
    # A servo model knows no spring: the best M1 stays two orders of magnitude away.
    train, held = rigid_errors(runs, result.split)
    assert held is not None
    assert min(train, held) > 100.0 * result.validation_mae


@pytest.mark.exhaustive("a longer search, over the motors' numbers too")
def test_the_motors_of_a_qbmove_come_back():
    """J and D within 10 % with springs and link free too, from the toolbox's motor."""
    result = found(QBMOVE, qbmove_runs(), CompliantUnit(actuator=QbMove()), groups=GROUPS)
    off = errors_of(result.unit, QBMOVE, ("motor_inertia", "motor_damping", "k1", "a1", "k2", "a2"))
    assert max(map(abs, (off["motor_inertia"], off["motor_damping"]))) < 0.10, off
    assert max(map(abs, off.values())) < 0.05, off


@pytest.mark.parametrize(
    ("unit", "presets", "names"),
    [
        (CompliantUnit(actuator=Sea(stiffness=24.0)), (None,), ("stiffness",)),
        pytest.param(
            CompliantUnit(actuator=AwasII(spring_stiffness=14.0, lever=0.06)),
            (0.004, 0.012),
            ("spring_stiffness", "lever"),
            marks=others,
        ),
        pytest.param(
            CompliantUnit(actuator=Bavs(a=2e-6, b=3e-6, k_e=7.0)), (0.01, 0.2), ("a", "b", "k_e"), marks=others
        ),
    ],
    ids=["sea", "awas2", "bavs"],
)
def test_springs_of_the_others_come_back(unit, presets, names):
    """Within 5 %; of a BAVS k is held, of an AwAS-II r_t, as no motion tells them apart from the others."""
    result = found(unit, recorded(unit, presets, (HEAVY,)))
    off = errors_of(result.unit, unit, names)
    assert max(map(abs, off.values())) < 0.05, off
    losses = errors_of(result.unit, unit, ("link_damping", "link_friction"))
    assert max(map(abs, losses.values())) < 0.10, losses


@pytest.mark.exhaustive("a search over a BAVS, whose damping in a driven motor's place is asked of a qbMove too")
def test_numbers_that_act_only_together_are_named():
    """Of a BAVS only k·a and k·b act (seed 003, eqs 5 and 6): freed, k is as open as a and b."""
    unit = CompliantUnit(actuator=Bavs())
    result = found(unit, recorded(unit, (0.01, 0.2), (HEAVY,)), freed=("k",), trials=60, validation="none")
    evidence = {p.name: p for p in result.evidence.parameters}
    assert not any(evidence[name].determined for name in ("a", "b", "k"))
    assert set(evidence["k"].traded_with) == {"a", "b"}
    assert evidence["k_e"].determined
    assert any("the combined effect of a, b and k" in warning for warning in result.evidence.warnings)


def test_small_deflections_tell_a_stiffness_not_its_two_numbers():
    """τ ≈ −(a1·k1 + a2·k2)·φ: one number for four."""
    wave = 0.05 * np.sin(2.0 * np.pi * np.linspace(0.0, 2.0, 200))
    unit = CompliantUnit(actuator=QbMove(a1=6.0, k1=0.02, a2=6.0, k2=0.02))
    run = ideal_motion(unit, Mode.PID_EQ_PRES, 0.05, Bench(mass=0.02, length=0.05), wave)
    result = found(unit, [run], unit, validation="none")
    assert not any(p.determined for p in result.evidence.parameters if p.name in ("a1", "k1", "a2", "k2"))
    text = " ".join(result.evidence.warnings)
    assert "every run has the same stiffness preset" in text
    assert "every run has the same load" in text


def test_a_driven_motors_damping_is_one_with_its_controllers():
    """J·q̈ = k_p·e − (D + k_d)·q̇ + … (seed 003, eqs 2, 7 and 11): only a released motor tells D."""
    # So slow that the torque stays within its limit, beyond which k_d says nothing any more.
    wave = 0.3 * np.sin(2.0 * np.pi * np.linspace(0.0, 1.0, 200))
    run = ideal_motion(QBMOVE, Mode.PID_EQ_PRES, 0.4, LIGHT, wave)
    held = (("motor_kp", 125.0), ("motor_inertia", 0.03), ("motor_friction", 0.02))
    result = found(QBMOVE, [run], QBMOVE, groups=(MOTOR,), fixed=held, validation="none")
    evidence = {p.name: p for p in result.evidence.parameters}
    assert evidence["motor_kd"].traded_with == ("D",)
    assert not evidence["motor_damping"].determined
    assert evidence["motor_damping"].value + evidence["motor_kd"].value == pytest.approx(0.4 + 4.5, rel=1e-3)
    released = [run, *qbmove_runs()[1::2]]
    again = found(QBMOVE, released, QBMOVE, groups=(MOTOR,), fixed=held, validation="none")
    assert {p.name: p for p in again.evidence.parameters}["motor_damping"].determined


def test_ideal_motors_say_nothing_of_themselves():
    """In mode 3 motors are where their references put them: J, D, τ_f, k_p and k_d move nothing."""
    wave = 0.6 * np.sin(2.0 * np.pi * np.linspace(0.0, 1.5, 150) ** 2)
    runs = [
        ideal_motion(QBMOVE, Mode.SPRING_EQ_PRES, preset, bench, wave) for preset, bench in ((0.1, LIGHT), (0.4, HEAVY))
    ]
    result = found(QBMOVE, runs, QBMOVE, groups=GROUPS, mode=Mode.SPRING_EQ_PRES, trials=1, validation="none")
    evidence = {p.name: p for p in result.evidence.parameters}
    assert all(evidence[name].determined for name in ("a1", "k1", "a2", "k2", "link_damping"))
    assert any("J, D, τ_f, k_p and k_d hardly change the motion" in warning for warning in result.evidence.warnings)


def test_intervals_hold_the_truth():
    """95 % intervals; `tests.bench.compliant_intervals` counts how many do."""
    unit = CompliantUnit(actuator=Sea(stiffness=24.0))
    result = found(unit, recorded(unit, (None,)), unit, trials=20)
    for p in result.evidence.parameters:
        if not p.frozen:
            assert abs(p.value - unknowns(unit).numbers()[p.name]) < p.half_width, p.name


@pytest.mark.parametrize(
    "imperfections",
    [
        pytest.param(Imperfections(), marks=others),
        Imperfections(read_duration=4e-3, read_jitter=1e-3),
        pytest.param(Imperfections(command_delay=7e-4), marks=others),
    ],
    ids=["quick", "late", "delayed"],
)
def test_the_true_actuator_reproduces_its_recordings_to_encoder_rounding(imperfections):
    """Rounding leaves a quarter of a step on average, whenever the reads come."""
    runs = [
        replace(run, channels={**run.channels, "command_time": run.command_time + imperfections.command_delay})
        for run in recorded(QBMOVE, (0.1, 0.4), (LIGHT,), imperfections)
    ]
    errors = CompliantRuns(runs, QBMOVE, threads=1).errors(QBMOVE)
    assert errors.mean() < 0.25 * 2.0 * np.pi / 4096 + 5e-5


@pytest.mark.exhaustive("a search twice over, and with two threads")
def test_the_same_seed_finds_the_same_and_fixed_numbers_stay():
    unit = CompliantUnit(actuator=Sea(stiffness=24.0))
    runs = recorded(unit, (None,))
    options = {"fixed": (("link_friction", 0.02),), "trials": 60, "seed": 3}
    once, again = (found(unit, runs, CompliantUnit(actuator=Sea()), **options) for _ in range(2))
    assert once.to_json() == again.to_json()
    assert once.unit.link_friction == 0.02
    threaded = identify_compliant(runs, replace(once.request, threads=2))
    assert threaded.unit == once.unit


def test_a_search_that_is_stopped_keeps_its_best():
    unit = CompliantUnit(actuator=Sea(stiffness=24.0))
    heard = []
    result = identify_compliant(
        recorded(unit, (None,)),
        CompliantRequest(start=CompliantUnit(actuator=Sea()), groups=(SPRINGS,), threads=1),
        on_progress=lambda share, best: heard.append((share, best)),
        should_stop=lambda: len(heard) >= 6,
    )
    assert result.stopped
    assert len(heard) == 6
    assert heard == sorted(heard, key=lambda told: (told[0], -told[1]))
    assert result.train_mae < result.start_error


def test_a_fit_that_leaves_something_unexplained_says_so():
    """Without the link's dry friction the motion cannot come to rest as it did."""
    unit = CompliantUnit(actuator=Sea(stiffness=24.0), link_friction=0.05)
    result = found(unit, recorded(unit, (None,)), unit, fixed=(("link_friction", 0.0),))
    assert result.unit.link_friction == 0.0
    assert any("encoder steps unexplained" in warning for warning in result.evidence.warnings)


@pytest.mark.parametrize("kind", ACTUATORS.values(), ids=ACTUATORS)
def test_a_file_holds_every_number_of_a_unit(kind, tmp_path):
    actuator = kind()
    actuator = actuator.with_values(
        {
            p.name: p.value + (0.01 + 0.003 * k) * (p.upper - p.value)
            for k, p in enumerate(actuator.parameters().values())
        }
    )
    motor = Motor(
        inertia=0.031,
        damping=0.27,
        max_torque=4.1,
        max_velocity=5.3,
        min_position=-1.5,
        max_position=2.1,
        friction=0.07,
    )
    unit = CompliantUnit(
        actuator=actuator, motor=motor, pid=Pid(kp=91.0, ki=1.3, kd=3.7), link_damping=0.011, link_friction=0.023
    )
    assert read_unit(write_unit(tmp_path / "unit.json", unit)) == unit


def test_a_unit_goes_into_numbers_and_back():
    parameters = unknowns(QBMOVE, GROUPS)
    assert unit_with(QBMOVE, parameters) == QBMOVE
    assert all(p.lower > 0.0 for p in parameters.free)
    assert [p.name for p in parameters.values() if p.frozen] == ["max_deflection"]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"actuator": None, "preset": None}, "mx106's own motor.*bench identify"),
        ({"actuator": "sea", "preset": None}, "of a sea, not of a qbmove"),
        ({"preset": None}, "has no stiffness preset"),
        ({"preset": 0.9}, "within 0 … 0.8"),
    ],
)
def test_runs_of_something_else_are_refused(settings, reason):
    run = qbmove_runs()[0]
    changed = replace(run, settings=replace(run.settings, **settings))
    with pytest.raises(IdentificationError, match=reason):
        identify_compliant([changed], CompliantRequest(start=QBMOVE, validation="none"))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"groups": ("colour",)}, "groups to identify are springs, link, motor"),
        ({"freed": ("weight",)}, "no number 'weight' to free"),
        ({"fixed": (("weight", 1.0),)}, "no parameter named 'weight'"),
        ({"fixed": (("a1", 500.0),)}, "a1 = 500"),
        ({"groups": ()}, "every number is held"),
        ({"trials": 0}, "0 trials are not possible"),
    ],
)
def test_a_request_that_is_not_possible_says_why(options, reason):
    with pytest.raises(IdentificationError, match=reason):
        CompliantRequest(start=QBMOVE, **options)


def test_a_goal_is_an_equilibrium_only_in_modes_3_and_6():
    with pytest.raises(IdentificationError, match="use mode 6 or 3"):
        CompliantRuns(qbmove_runs(), QBMOVE, Mode.MOTOR_TORQUES)
