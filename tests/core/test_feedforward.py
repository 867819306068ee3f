"""Feed-forward: what it asks for satisfies the equation it solves, sits on the drive/backdrive diagram, and is produced
by the servo's own law. The experiment's servo is simulated; its truth is the model that is compensated.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from core.base.errors import ModelError
from core.motion.simulation import Stepper
from core.motion.trajectories import PAPER_TRAJECTORIES, make_trajectory
from core.practice.feedforward import (
    SETTLING,
    SMOOTHING,
    CompensatedRun,
    WantedMotion,
    compensated_goal,
    compensation_experiment,
    feedforward,
    look_ahead,
    wanted_motion,
)
from core.servo.bench import Bench
from core.servo.friction import QUADRATIC_GATES, friction_budget
from core.servo.model import with_contact
from core.servo.shipped import load_model
from core.servo.terms import FRICTION_MODELS
from tests.core.conftest import LAW_MODELS, PENDULUM, catalogue_model, settings_for

NO_LOAD = Bench(mass=0.0, length=0.0)
COUNT = 2000
EVERY_MODEL = [(friction, gate) for friction in FRICTION_MODELS for gate in QUADRATIC_GATES]
TO_ROUNDING = 1e-9
"""Of a torque or an angle that closed forms give [N·m, rad]."""


def wanted(position=0.0, velocity=0.0, acceleration=0.0):
    q, v, a = np.broadcast_arrays(*(np.atleast_1d(np.asarray(x, float)) for x in (position, velocity, acceleration)))
    return WantedMotion(time=np.arange(len(q), dtype=float), position=q, velocity=v, acceleration=a)


def any_model(random, friction, gate="larger_torque", **options):
    """A model whose friction is drawn from the whole box of bounds, its motor unlocked and strong."""
    model = catalogue_model("mx106", friction, quadratic_gate=gate, **options)
    drawn = {p.name: random.uniform(p.lower, p.upper) for p in model.parameters.values()}
    drawn |= {name: 0.45 * drawn[name] for name in drawn if name.startswith("load_friction")}
    drawn |= {"kt": 4.0, "R": 1.0, "armature": 0.02, "q_offset": 0.0}
    return model.with_values({k: v for k, v in drawn.items() if k in model.parameters})


def asked(model, velocity, acceleration, external, **options):
    v, a, te = np.broadcast_arrays(*np.atleast_1d(velocity, acceleration, external))
    return feedforward(model, NO_LOAD, model.default_settings(), wanted(0.0, v, a), te, **options)


class TestEquation:
    @pytest.mark.parametrize(("friction", "gate"), EVERY_MODEL)
    def test_the_torque_leaves_what_the_motion_needs(self, random, friction, gate):
        """τ_m − σ·τ_f^m(τ_m, τ_e, q̇) = J·q̈ − τ_e wherever the motor reaches and Q does not jump."""
        for _ in range(5):
            model = any_model(random, friction, gate)
            v, a, te = random.normal(0, 1, COUNT), random.normal(0, 20, COUNT), random.normal(0, 2, COUNT)
            v[::4] *= 0.01
            found = asked(model, v, a, te)
            tm = found.motor_torque
            budget = friction_budget(friction, model.values, tm, te, v, gate)
            exact = ~found.saturated & (np.abs(np.abs(tm) - np.abs(te)) > TO_ROUNDING)

            assert exact.mean() > 0.9
            residual = tm - found.direction * budget - (model.values["armature"] * a - te)
            assert np.abs(residual[exact]).max() < TO_ROUNDING
            assert found.friction_torque[exact] == pytest.approx((found.direction * budget)[exact], abs=TO_ROUNDING)

    def test_friction_falls_with_the_speed_as_the_contact_says(self):
        model = with_contact(catalogue_model("mx106", "m2"), "elastoplastic_rational")
        v = 2.0 * model.values["dtheta_stribeck"]
        found = asked(model, v, 0.0, 0.0)
        budget = friction_budget("m2", model.values, 0.0, 0.0, v, contact=model.contact)
        assert found.motor_torque == pytest.approx(found.direction * budget)

    @pytest.mark.parametrize("gate", QUADRATIC_GATES)
    def test_where_q_jumps_over_the_answer_it_is_the_jump(self, gate):
        """M6 with K_m^q alone against 2 N·m: below |τ_e| the budget is K_c + 0.03·2² = 0.17 N·m, above it 0.05 N·m;
        J·q̈ between −0.17 and −0.05 N·m is left by no torque, and −0.04 N·m by 2.01 N·m."""
        model = catalogue_model("mx106", "m6", quadratic_gate=gate)
        values = dict.fromkeys((n for n in model.values if "friction" in n), 0.0)
        values |= {"friction_base": 0.05, "load_friction_motor_quad": 0.03, "dtheta_stribeck": 4.7, "alpha": 10.0}
        model = model.with_values(values)

        found = asked(model, 0.1, np.array([-0.16, -0.06, -0.04]) / model.values["armature"], -2.0, preview=0.0)

        assert found.motor_torque == pytest.approx([2.0, 2.0, 2.01], abs=1e-8)
        assert not found.saturated.any()

    def test_m1_is_the_textbook(self):
        """M1 does not depend on load: τ_m = J·q̈ − τ_e + σ·(K_c + K_v·|q̇|)."""
        model = load_model("mx106", "m1")
        model = model.with_values({"q_offset": 0.11})
        p, bench = model.values, replace(PENDULUM, angle_offset=0.07)
        found = feedforward(model, bench, model.default_settings(), wanted(0.3, -1.5, 2.0))
        inertia = PENDULUM.inertia + p["armature"]
        gravity = -PENDULUM.gravity_torque * math.sin(0.3 + 0.11 + 0.07)

        expected = inertia * 2.0 - gravity - (p["friction_base"] + p["friction_viscous"] * 1.5)
        assert found.motor_torque == pytest.approx(expected, rel=1e-12)
        assert found.direction == pytest.approx(-1.0)


class TestLimits:
    def test_a_motor_that_locks_itself_gives_all_it_has(self):
        """K_m + K_m^s ≥ 1: more torque brings more friction, there is no answer within or beyond the range."""
        model = any_model(np.random.default_rng(1), "m5")
        values = {"load_friction_motor": 0.9, "load_friction_motor_stribeck": 0.3, "friction_base": 0.2}
        model = model.with_values(values)
        peak = model.values["kt"] / model.values["R"] * model.control.output_limit * model.supply_voltage

        found = asked(model, 0.0, 100.0, 0.0)

        assert found.saturated.all()
        assert found.motor_torque == pytest.approx(peak)
        assert np.isfinite(found.goal_offset).all()

    def test_beyond_the_motor_the_output_is_its_limit(self):
        model = load_model("mx106", "m6")
        found = asked(model, 1.0, np.array([1000.0, -1000.0, 1.0]), 0.0)

        assert found.saturated.tolist() == [True, True, False]
        assert found.output[:2] == pytest.approx([model.control.output_limit, -model.control.output_limit])

    @pytest.mark.parametrize("speed", [0.0, 1.1, -1.1])
    @pytest.mark.parametrize("law", ["voltage", "current"])
    def test_the_ends_are_those_of_the_motor_at_its_speed(self, law, speed):
        """k_t·(±D·U − k_t·q̇)/R (eq. 13); of a current law ±k_t·I_heat, and no more than k_t·(±U − k_t·q̇)/R (eq. 15).

        At 1.1 rad/s k_t·q̇ is 5.5 of 12 V: 3.25 A are left of an I_heat of 4 A one way, 4 A the other.
        """
        model = catalogue_model(friction="m1", values={"kt": 5.0, "R": 2.0}, **LAW_MODELS[law])
        limit = {"voltage": 0.9, "current": 4.0}[law]
        model = replace(model, supply_voltage=12.0, control=replace(model.control, output_limit=limit))

        found = asked(model, speed, np.array([1e5, -1e5]), 0.0)

        full = np.array([12.0, -12.0])
        if law == "voltage":
            expected = 5.0 * (0.9 * full - 5.0 * speed) / 2.0
        else:
            expected = 5.0 * np.clip((full - 5.0 * speed) / 2.0, -4.0, 4.0)
        assert found.saturated.all()
        assert found.motor_torque == pytest.approx(expected)

    @pytest.mark.parametrize(
        ("changes", "message"), [({"ki": 1.0}, "ki and kd"), ({"kd": 1.0}, "ki and kd"), ({"kp": 0.0}, "kp above 0")]
    )
    def test_gains_it_cannot_serve_are_refused(self, changes, message):
        model = load_model("mx106", "m6")
        with pytest.raises(ModelError, match=message):
            feedforward(model, PENDULUM, settings_for(model, **changes), wanted())

    def test_motions_it_cannot_read_are_refused(self):
        model = load_model("mx106", "m6")
        with pytest.raises(ModelError, match="not finite"):
            asked(model, np.array([0.0, np.nan]), 0.0, 0.0)
        with pytest.raises(ModelError, match="smoothing"):
            asked(model, 0.0, 0.0, 0.0, smoothing=0.0)
        with pytest.raises(ModelError, match="none, friction, rigid, full"):
            compensated_goal(model, PENDULUM, model.default_settings(), make_trajectory("sin_sin"), [0.0], "magic")


class TestDirection:
    def test_at_rest_it_is_that_of_the_next_motion(self):
        model = load_model("mx106", "m6")
        for acceleration, direction in ((20.0, 1.0), (-20.0, -1.0), (0.0, 0.0)):
            assert asked(model, 0.0, acceleration, -0.5).direction == pytest.approx(direction, abs=1e-4)


class TestControlLaw:
    @pytest.mark.parametrize("law", LAW_MODELS)
    def test_the_goal_makes_the_servo_give_the_torque(self, law, random):
        """The kernel's step, the wanted state in its middle, commanded the compensated goal, has that motor torque."""
        path = ("error_gain_ratio", "dead_band", "output_offset")
        values = {"error_gain_ratio": 1.2, "output_offset": 0.03}
        model = catalogue_model(friction="m6", command_path=path, values=values, **LAW_MODELS[law])
        config = model.default_settings()
        motion = wanted(*(random.normal(0.0, scale, 40) for scale in (0.5, 0.5, 3.0)))
        found = feedforward(model, PENDULUM, config, motion)

        free = ~found.saturated
        assert free.sum() > 10
        for k in np.flatnonzero(free):
            velocity = motion.velocity[k]
            before = motion.position[k] - 0.5e-3 * velocity
            stepper = Stepper(model, PENDULUM, config, 1e-3, position=before, velocity=velocity)
            stepper.step(motion.position[k] + found.goal_offset[k])
            # A goal without a limit moves at 1e9 rad/s: over 1 rad its mean is 5e-7 rad late, times the gain.
            assert stepper.motor_torque == pytest.approx(found.motor_torque[k], rel=1e-6, abs=1e-4)

    def test_the_supply_sags_by_what_is_drawn(self):
        """d·(U − R_s·d·I) = R·I + k_t·q̇."""
        model = catalogue_model("mx106", "m4", command_path=("supply_sag",), values={"supply_sag": 0.5})
        found = asked(model, 1.0, np.array([30.0, 30.0, 30.0, 0.0]), np.array([-1.0, 0.0, 1.0, 1.5]))
        p, current = model.values, found.motor_torque / model.values["kt"]
        power = found.output * current

        # Held back by the load the motor brakes and gives back, which raises no voltage.
        assert (power > 0.0).tolist() == [True, True, True, False]
        supply = model.supply_voltage - 0.5 * np.maximum(power, 0.0)
        assert not found.saturated.any()
        assert found.output * supply == pytest.approx(p["R"] * current + p["kt"] * 1.0, rel=1e-9)

    def test_what_a_sagging_supply_cannot_give_is_beyond_the_motor(self):
        """Nine tenths of the torque at the full supply, of which the sag leaves no so large duty cycle."""
        model = catalogue_model("mx106", "m1", command_path=("supply_sag",), values={"supply_sag": 0.5})
        p, limit = model.values, model.control.output_limit
        torque = 0.9 * p["kt"] / p["R"] * limit * model.supply_voltage
        for side in (1.0, -1.0):
            found = asked(model, 0.0, side * torque / p["armature"], 0.0, smoothing=math.inf)

            assert found.motor_torque == pytest.approx(side * torque)
            assert found.output == pytest.approx(side * limit)
            assert found.saturated.all()

    @pytest.mark.parametrize(("servo", "law"), [("mx106", "voltage"), ("erob80_50", "current")])
    def test_friction_alone_is_what_the_torque_costs_at_the_gain(self, servo, law):
        """R·σ·τ_f^m/(k_t·U·k_p) of duty cycle, σ·τ_f^m/(k_t·k_p) of current."""
        model = load_model(servo, "m6")
        found = asked(model, 0.4, 0.0, -1.0)
        p, config = model.values, model.default_settings()

        assert model.control.law == law
        per_torque = p["R"] / config.supply_voltage if law == "voltage" else 1.0
        gain = config.kp * model.control.error_gain
        assert found.friction_offset == pytest.approx(found.friction_torque * per_torque / p["kt"] / gain)
        assert found.friction_torque > 0.0


class TestWantedMotion:
    def test_velocity_and_acceleration_are_the_trajectory_s(self):
        """sin(ωt): Aω·cos(ωt) and −Aω²·sin(ωt), to the differences' error ω²δ²/6."""
        sine = make_trajectory("sin_sin", fast_amplitude=0.0, slow_amplitude=1.0, slow_frequency=2.0)
        time = np.linspace(0.0, sine.duration, 500)
        motion = wanted_motion(sine, time)

        assert motion.velocity == pytest.approx(2.0 * np.cos(2.0 * time), abs=1e-5)
        assert motion.acceleration == pytest.approx(-4.0 * np.sin(2.0 * time), abs=0.01)
        after = wanted_motion(sine, [sine.duration + 0.1])
        assert (after.velocity, after.acceleration) == (0.0, 0.0)

    def test_look_ahead_is_delay_and_half_a_hold(self):
        model = catalogue_model("mx106", "m1", command_path=("command_delay",), values={"command_delay": 0.02})

        assert look_ahead(model, 0.005) == pytest.approx(0.0225)
        assert look_ahead(load_model("mx106", "m1"), 0.0) == 0.0


class TestGoal:
    """Commands of 12 ms that act 30 ms late: 36 ms from a command to the middle of its effect, 41 with a lag of 5."""

    SINE = make_trajectory("sin_sin", fast_amplitude=0.0, slow_amplitude=1.0, slow_frequency=2.0)

    def late(self):
        values = {"command_delay": 0.03, "pwm_lag": 0.005}
        return catalogue_model("mx106", "m4", command_path=tuple(values), values=values)

    @pytest.mark.parametrize("mode", ["none", "friction", "rigid", "full"])
    def test_what_each_mode_commands_and_when(self, mode):
        model, time = self.late(), np.linspace(0.5, 2.0, 7)
        found, _ = compensated_goal(model, PENDULUM, model.default_settings(), self.SINE, time, mode, held=0.012)

        motion = wanted_motion(self.SINE, time + 0.041)
        smoothing = math.inf if mode == "rigid" else SMOOTHING
        offsets = feedforward(model, PENDULUM, model.default_settings(), motion, smoothing=smoothing)
        expected = {
            "none": self.SINE.goal(time),
            "friction": self.SINE.goal(time) + offsets.friction_offset,
        }.get(mode, self.SINE.goal(time + 0.036) + offsets.goal_offset)
        assert found == pytest.approx(expected, abs=1e-12)


def test_errors_of_a_run_by_hand():
    """3, −4 and 0 mrad, and what does not count: √(25/3), 7/3 and 4."""
    error = np.array([np.nan, 3e-3, -4e-3, 0.0])
    run = CompensatedRun(
        title="", mode="none", model=None, goal=error, motion=None, error=error, saturated_share=0.0
    )  # fmt: skip

    assert run.rms_mrad == pytest.approx(math.sqrt(25.0 / 3.0))
    assert run.mean_mrad == pytest.approx(7.0 / 3.0)
    assert run.worst_mrad == pytest.approx(4.0)


class TestExperiment:
    """Measured on the MX-106, 0.5 kg at 0.15 m, kp 16: rms 113 and 41 mrad uncompensated, about 0.1 with everything."""

    @pytest.fixture(scope="class")
    @classmethod
    def runs(cls):
        model, simpler = load_model("mx106", "m6"), load_model("mx106", "m1")
        return {
            name: {
                (run.mode, run.model.friction): run
                for run in compensation_experiment(
                    model, PENDULUM, model.default_settings(), make_trajectory(name), 0.005, simpler
                )
            }
            for name in PAPER_TRAJECTORIES
        }

    @pytest.mark.parametrize("name", PAPER_TRAJECTORIES[1:])
    def test_everything_by_m6_follows_the_wanted_motion(self, runs, name):
        plain, full, rigid = (runs[name][mode, "m6"] for mode in ("none", "full", "rigid"))

        assert full.saturated_share < 0.01
        assert 50.0 * full.rms_mrad < plain.rms_mrad
        assert 10.0 * full.rms_mrad < rigid.rms_mrad
        assert full.rms_mrad < 1.0

    def test_errors_are_counted_while_the_motor_drives(self, runs):
        run = runs["lift_and_drop"]["none", "m6"]
        driven = make_trajectory("lift_and_drop").torque_enable(run.motion.time)

        assert np.array_equal(np.isfinite(run.error), driven & (run.motion.time >= SETTLING))
        assert run.mean_mrad <= run.rms_mrad <= run.worst_mrad

    def test_steps_that_are_not_possible_are_refused(self):
        model = load_model("mx106", "m1")
        for dt in (0.0, math.nan, 10.0):
            with pytest.raises(ModelError, match="commands every"):
                compensation_experiment(model, PENDULUM, model.default_settings(), make_trajectory("sin_sin"), dt)
