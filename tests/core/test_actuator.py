"""Control laws and motors, eqs (12)–(15): one step of the kernel against the equation, and the catalogue's gains.

A step of Algorithm 1 from a known state shows the law directly: its motor torque is the sample's `motor_torque`.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from core.base.errors import ModelError
from core.kernel.layout import Law, Setup, Slot
from core.kernel.step import coast_current
from core.motion.simulation import Stepper
from core.servo.actuator import ControlLaw, command_path_parameters, motor_parameters, setup_row
from core.servo.bench import Bench
from core.servo.catalogue import load_servo
from core.servo.terms import COMMAND_PATH_TERMS, TERMS
from tests.core.conftest import PENDULUM, catalogue_model, settings_for

H = 0.001
KT, R = 2.0, 4.0
MOTOR = {"kt": KT, "R": R}


def one_step(model, *, q=0.0, v=0.0, goal=0.0, enable=True, h=H, settings=None, **inputs):
    stepper = Stepper(model, PENDULUM, settings or model.default_settings(), h, position=q, velocity=v)
    stepper.step(goal, enable, **inputs)
    return stepper


@pytest.fixture
def mx106():
    return catalogue_model("mx106", "m1", values=MOTOR, integrator="algorithm1")


@pytest.fixture
def erob():
    return catalogue_model("erob80_100", "m1", values={"kt": 8.0, "R": 2.0}, integrator="algorithm1")


@pytest.mark.parametrize(("goal", "v"), [(0.1, 0.0), (0.1, 2.0), (-0.2, 1.0), (0.05, -3.0)])
def test_voltage_law(mx106, goal, v):
    """eqs (12, 13): U = kp·error_gain·(θᵈ − θ)·U_max share, τ_m = k_t/R·U − k_t²/R·θ̇."""
    voltage = 16 * 0.158 * goal * 15.0

    step = one_step(mx106, goal=goal, v=v)

    assert step.motor_torque == pytest.approx(KT / R * voltage - KT**2 / R * v)
    assert step.current == pytest.approx(step.motor_torque / KT)
    assert step.duty_cycle == pytest.approx(16 * 0.158 * goal)
    assert step.supply_voltage == 15.0


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_pwm_limit(mx106, sign):
    """eq. (12): the duty cycle is clipped at the catalogue's 0.9625."""
    step = one_step(mx106, goal=sign * 2.0)

    assert step.duty_cycle == sign * 0.9625
    assert step.motor_torque == pytest.approx(sign * KT / R * 0.9625 * 15.0)


@pytest.mark.parametrize("v", [0.0, 1.5])
@pytest.mark.parametrize("goal", [0.02, -0.1, 1.0, -1.0])
def test_erob_law(erob, goal, v):
    """amps = kp·e − damping·√kp·θ̇ with the catalogue's damping of 2, at most 12 A, eqs (14, 15): τ_m = k_t·I."""
    amps = 50.0 * goal - 2.0 * math.sqrt(50.0) * v

    step = one_step(erob, goal=goal, v=v)

    assert step.current == pytest.approx(max(min(amps, 12.0), -12.0))
    assert step.motor_torque == pytest.approx(8.0 * step.current)


def test_damping_of_a_recording_replaces_the_catalogues(erob):
    step = one_step(erob, goal=0.0, v=0.5, settings=settings_for(erob, damping=0.7))

    assert step.current == pytest.approx(-0.7 * math.sqrt(50.0) * 0.5)


@pytest.mark.parametrize(("goal", "v"), [(1.0, 5.0), (1.0, -7.0), (-1.0, 7.0), (0.0, 9.0)])
def test_back_emf_limit(erob, goal, v):
    """eq. (14), one limit for each direction: (−U − k_t·θ̇)/R ≤ I ≤ (U − k_t·θ̇)/R."""
    amps = max(min(50.0 * goal - 2.0 * math.sqrt(50.0) * v, 12.0), -12.0)
    low, high = (-48.0 - 8.0 * v) / 2.0, (48.0 - 8.0 * v) / 2.0

    assert one_step(erob, goal=goal, v=v).current == pytest.approx(max(min(amps, high), low))


@pytest.mark.parametrize("v", [0.0, 2.0, -5.0])
def test_torque_off_is_an_open_circuit(mx106, erob, v):
    """Section V-A: the H-bridge is released, the back-EMF is absent; the eRob's current is zero."""
    for model in (mx106, erob):
        step = one_step(model, goal=1.0, v=v, enable=False)
        assert step.motor_torque == 0.0
        assert step.current == 0.0


@pytest.mark.parametrize("braking", [0.25, 1.0])
def test_torque_off_can_brake(braking):
    """release_braking β: −β·k_t²/R·θ̇; at 1 the motor is shorted."""
    values = {**MOTOR, "release_braking": braking}
    model = catalogue_model("mx106", "m1", command_path=("release_braking",), values=values, integrator="algorithm1")

    step = one_step(model, goal=1.0, v=3.0, enable=False)

    assert step.motor_torque == pytest.approx(-braking * KT**2 / R * 3.0)
    assert one_step(model, goal=0.01, v=3.0).motor_torque == pytest.approx(
        KT / R * 16 * 0.158 * 0.01 * 15.0 - KT**2 / R * 3.0
    )


def test_coasting_bridge_uses_its_mean_current():
    model = catalogue_model("mx106", "m1", drive="fast decay", values=MOTOR, integrator="algorithm1")

    step = one_step(model, goal=0.1, v=1.0)

    assert model.control.kernel_law is Law.COAST
    expected = coast_current(16 * 0.158 * 0.1, 15.0, KT * 1.0, R, 1e-3, 1e-4)
    assert step.current == pytest.approx(expected)


@pytest.mark.parametrize(("servo", "ki_unit", "kd_unit"), [("mx106", 3.90625, 0.032), ("xl330", 1.953125, 0.008)])
def test_integral_and_derivative_gains_of_the_catalogue(servo, ki_unit, kd_unit):
    """MX e-manual: Ki = I·1000/2048 per s and Kd = D·4/1000 s where Kp = P/8; relative to P ×8. XL330: P/128,
    I/65536, D/16 per control period of 1 ms."""
    spec = load_servo(servo)
    model = catalogue_model(servo, "m1", integrator="algorithm1")
    settings = settings_for(model, kp=10.0, ki=3.0, kd=5.0)
    goal, h = 0.001, 0.01

    stepper = Stepper(model, PENDULUM, settings, h, position=0.0)
    stepper.step(goal)

    gain = spec.control.error_gain
    expected = gain * (10.0 * goal + 3.0 * ki_unit * goal * h + 5.0 * kd_unit * goal / h)
    assert stepper.duty_cycle == pytest.approx(expected)
    second = goal - stepper.position
    stepper.step(goal)
    integral = 3.0 * ki_unit * (goal + second) * h
    assert stepper.duty_cycle == pytest.approx(gain * (10.0 * second + integral + 5.0 * kd_unit * (second - goal) / h))


def test_the_integral_is_limited_and_forgotten_when_released():
    model = catalogue_model("mx106", "m1", integrator="algorithm1")
    settings = settings_for(model, kp=1e-9, ki=1e6)
    stepper = Stepper(model, PENDULUM, settings, 0.001)
    for _ in range(50):
        stepper.step(1.0)
    assert stepper.duty_cycle == pytest.approx(0.9625)
    stepper.step(1.0, torque_enable=False)
    assert stepper.duty_cycle == 0.0
    stepper.step(stepper.position + 1e-12)
    assert abs(stepper.duty_cycle) < 1e-3


def test_error_gain_ratio_scales_every_gain():
    plain = catalogue_model("mx106", "m1")
    scaled = catalogue_model("mx106", "m1", command_path=("error_gain_ratio",), values={"error_gain_ratio": 0.8})
    gains = [Slot.KP, Slot.KI, Slot.KD]

    np.testing.assert_allclose(scaled.rows()[0, gains], 0.8 * plain.rows()[0, gains])


def test_setup_of_a_bench():
    law = load_servo("erob80_100").control
    model = catalogue_model("erob80_100", "m1")
    bench = Bench(mass=3.1, length=0.5, angle_offset=0.02)

    setup = setup_row(law, bench, settings_for(model, kp=25.0, ki=2.0, kd=3.0), 0.004)

    assert setup[[Setup.STEP, Setup.KP, Setup.KI, Setup.KD]].tolist() == [0.004, 25.0, 2.0, 3.0]
    assert setup[Setup.KV] * law.damping == pytest.approx(2.0 * 5.0)
    assert setup[Setup.INERTIA] == pytest.approx(3.1 * 0.25)
    assert setup[Setup.GRAVITY_TORQUE] == pytest.approx(3.1 * 9.80665 * 0.5)
    assert setup[Setup.ANGLE_OFFSET] == 0.02


def test_damping_needs_a_law_that_has_it(mx106):
    with pytest.raises(ModelError, match="velocity gain"):
        setup_row(mx106.control, PENDULUM, settings_for(mx106, damping=1.0), H)


@pytest.mark.parametrize(
    "wrong",
    [
        {"law": "torque"},
        {"drive": "half"},
        {"law": "current", "drive": "fast decay"},
        {"error_gain": -1.0},
        {"output_limit": math.nan},
        {"damping": "much"},
    ],
)
def test_impossible_laws_are_refused(wrong):
    with pytest.raises(ModelError):
        ControlLaw(**{"law": "voltage", "output_limit": 1.0, **wrong})


def test_law_json_round_trip():
    law = load_servo("erob80_50").control

    assert ControlLaw.from_json(law.to_json()) == law
    assert law.control_unit == "A"
    assert replace(load_servo("mx64").control).control_unit == "V"
    with pytest.raises(ModelError):
        ControlLaw.from_json({"law": "voltage", "torque": 1.0})


def test_motor_parameters_of_each_drive():
    bounds = {"kt": (2.0, 1.0, 4.0), "R": (3.0, 1.0, 8.0), "armature": (0.02, 0.01, 0.1)}

    brake, coast = (motor_parameters(bounds, drive) for drive in ("slow decay", "fast decay"))

    assert [p.name for p in brake] == ["kt", "R", "armature", "q_offset"]
    assert [p.name for p in coast] == ["kt", "R", "armature", "inductance", "pwm_period", "q_offset"]
    assert [p.name for p in coast if p.frozen] == ["pwm_period"]
    assert all(TERMS[p.name].slots for p in coast)


def test_command_path_parameters():
    parameters = command_path_parameters(COMMAND_PATH_TERMS, 5.0)

    assert tuple(p.name for p in parameters) == COMMAND_PATH_TERMS
    for parameter in parameters:
        assert parameter.lower <= parameter.value <= parameter.upper
    with pytest.raises(ModelError, match="command_delay"):
        command_path_parameters(("telepathy",), 5.0)
