"""A voltage law whose motor current is limited, as in current-based position control: the kernel, files, and exports.

Motion with a limit is compared with an independent simulation in test_independent_servo.py.
"""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from core.base.errors import ExportError, ModelError
from core.export import check_export, export_model, exporters
from core.export.programs import program
from core.export.servo_file import servo_text
from core.kernel.layout import Law
from core.motion.simulation import Stepper
from core.practice.diagram import peak_torque
from core.servo.actuator import ControlLaw
from core.servo.catalogue import new_servo_text, own_servo
from core.servo.model import ServoModel
from core.servo.shipped import load_model
from tests.core.conftest import PENDULUM, catalogue_model
from tests.core.test_convergence import DRIVEN, LIMITED, MANY, observed_orders, of_law

KT, R, SUPPLY, LIMIT, FULL = 2.0, 4.0, 15.0, 1.5, 0.9625
SAG = 0.7
ABLE = [target for target, exporter in exporters().items() if exporter.any_law]


def limited(integrator="algorithm1", **terms):
    values = {"kt": KT, "R": R, **terms}
    options = {"command_path": tuple(terms), "values": values, "integrator": integrator}
    return catalogue_model("mx106", "m1", current_limit=LIMIT, **options)


def shipped():
    model = load_model("mx106", "m4")
    return replace(model, control=replace(model.control, current_limit=1.0))


def one_step(model, *, v=0.0, goal=0.0, **inputs):
    stepper = Stepper(model, PENDULUM, model.default_settings(), 0.001, velocity=v)
    stepper.step(goal, **inputs)
    return stepper


@pytest.mark.parametrize("v", [0.0, 2.0, -5.0, 9.0])
@pytest.mark.parametrize("goal", [0.0, 0.05, 1.0, -1.0])
def test_the_duty_cycle_keeps_the_current_within_the_limit(goal, v):
    """(d·U − k_t·θ̇)/R within ±I_max, with |d| at most the largest duty cycle."""
    asked = max(min(16 * 0.158 * goal, FULL), -FULL)
    low, high = ((KT * v + side * LIMIT * R) / SUPPLY for side in (-1.0, 1.0))
    duty = max(min(max(min(asked, high), low), FULL), -FULL)

    step = one_step(limited(), goal=goal, v=v)

    assert step.duty_cycle == pytest.approx(duty)
    assert step.current == pytest.approx((duty * SUPPLY - KT * v) / R)
    assert abs(step.current) <= LIMIT * (1.0 + 1e-12) or abs(step.duty_cycle) == pytest.approx(FULL)


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("lag", [0.0, 0.0005])
def test_the_supply_sags_by_the_limited_current(side, lag):
    """d·U = R·I and U = U₀ − R_s·d·I at a blocked shaft; the lag of the duty cycle comes before the limit."""
    terms = {"supply_sag": SAG, **({"pwm_lag": lag} if lag else {})}
    step = one_step(limited("leapfrog", **terms), goal=side)

    assert step.current == pytest.approx(side * LIMIT)
    assert step.duty_cycle * step.supply_voltage == pytest.approx(R * step.current)
    assert step.supply_voltage == pytest.approx(SUPPLY - SAG * step.duty_cycle * step.current)


@pytest.mark.parametrize(("limit", "kp", "start"), [(0.3, 400.0, (-1.5, 2.0)), (0.5, 16.0, (-0.2, 1.0))])
def test_the_leapfrog_is_of_second_order(limit, kp, start):
    """At the limit all the time; and out of it after a tenth of the motion, a kink where the order varies from step to
    step."""
    model = of_law("limited", supply_sag=1.0)
    model = replace(model, control=replace(model.control, current_limit=limit))
    path = LIMITED if limit == 0.3 else DRIVEN

    assert 1.7 < observed_orders(model, path, model.default_settings(kp), *start, MANY).mean() < 2.6


def test_a_released_motor_has_no_current():
    assert one_step(limited(), goal=1.0, v=3.0, torque_enable=False).current == 0.0


def test_the_largest_torque_is_the_limits():
    assert peak_torque(limited()) == pytest.approx(KT * LIMIT)


@pytest.mark.parametrize("wrong", [{"law": "current"}, {"drive": "fast decay"}, {"current_limit": -1.0}])
def test_only_a_voltage_law_with_slow_decay_has_a_limit(wrong):
    with pytest.raises(ModelError, match="current_limit"):
        ControlLaw(**{"law": "voltage", "output_limit": 1.0, "current_limit": 1.0, **wrong})


def test_another_command_keeps_the_limit_of_a_voltage_only():
    model = limited()
    laws = {
        kind: model.control.commanded_by(kind, model.spec.motor, SUPPLY).current_limit
        for kind in ("duty_cycle", "voltage", "velocity", "current", "torque")
    }
    assert laws == {"duty_cycle": LIMIT, "voltage": LIMIT, "velocity": LIMIT, "current": 0.0, "torque": 0.0}


def test_a_file_names_the_limit_only_if_there_is_one():
    model = limited()
    free = replace(model, control=replace(model.control, current_limit=0.0))

    assert (model.control.kernel_law, free.control.kernel_law) == (Law.LIMITED, Law.VOLTAGE)
    assert ServoModel.from_json_text(model.to_json_text()) == model
    assert "current_limit" not in free.to_json_text()


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("current_limit = 0.0", "current_limit = 0.8", 0.8),
        ("current_limit = 0.0", "# none", 0.0),
        ("current_limit = 0.0", "current_limit = -0.8", r"\[control\] current_limit = -0.8 must be a number from 0"),
        (
            'law = "voltage"',
            'law = "current"',
            r"\[control\] current_limit = 0.8 must be 0 except with the voltage law",
        ),
        ('drive = "slow decay"', 'drive = "fast decay"', "current_limit = 0.8 must be 0 except with .* 'slow decay'"),
    ],
)
def test_the_limit_of_a_servo_file(old, new, found):
    text = new_servo_text("hexa")
    assert old in text
    text = text.replace(old, new)
    if isinstance(found, float):
        assert own_servo(text).control.current_limit == found
    else:
        with pytest.raises(ModelError, match=found):
            own_servo(text.replace("current_limit = 0.0", "current_limit = 0.8"))


class TestExports:
    @pytest.mark.parametrize("target", sorted(set(exporters()) - set(ABLE)))
    def test_a_target_without_a_limit_refuses_the_servo_by_name(self, target, tmp_path):
        with pytest.raises(ExportError, match=f"export to {target}: it has no current limit.*: .*drake.*c, json$"):
            export_model(shipped(), target, tmp_path)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(("target", "package"), [("c", "core"), ("webots", "core"), ("isaaclab", "torch")])
    def test_the_motion_of_a_program_is_the_models(self, target, package, tmp_path, monkeypatch):
        pytest.importorskip(package)
        monkeypatch.setattr("core.export.exporting.step_notes", lambda *_: [])
        model = shipped()
        export_model(model, target, tmp_path)
        assert check_export(model, target, tmp_path).worst_mrad < 1.5

    def test_a_file_of_version_5_states_the_limit(self):
        model = shipped()
        data = json.loads(servo_text(model, model.default_settings()))
        assert (data["version"], data["law"], data["current_limit"]) == (5, "voltage", 1.0)
        free = replace(model, control=replace(model.control, current_limit=0.0))
        earlier = json.loads(servo_text(free, free.default_settings()))
        assert earlier["version"] < 5
        assert "current_limit" not in earlier
        servo = program("servobench_servo")
        for read, limit in ((data, 1.0), (earlier, 1e9)):
            assert dict(zip(servo.FIELDS, servo.load_servo(read), strict=True))["current_limit"] == limit

    def test_the_limit_is_the_effort_limit_of_a_dc_motor(self):
        from core.export.targets.isaaclab import dc_motor

        model = limited()
        assert dc_motor(model, model.default_settings())["effort_limit"] == pytest.approx(KT * LIMIT)


def test_the_programs_function_equals_the_kernels_equation():
    """A shaft turned faster than the bridge can hold has a larger current, in the program as in the kernel."""
    servo = program("servobench_servo")
    numbers = servo.load_servo(json.loads(servo_text(limited(), limited().default_settings())))
    for v in np.linspace(-15.0, 15.0, 31):
        state = np.zeros(len(servo.STATE))
        torque, slope = servo.drive(numbers, state, 0.0, v, 1.0, 1.0, 0.001)
        step = one_step(limited(), goal=1.0, v=v)
        assert torque == pytest.approx(step.motor_torque)
        held = math.isclose(abs(step.current), LIMIT)
        assert slope == pytest.approx(0.0 if held else KT**2 / R)
