"""What several tests of this room need: servos with known numbers, models of every law, and random candidates."""

from dataclasses import replace

import numpy as np
import pytest

from core.export.references import GridRun, converged_positions
from core.export.targets.mujoco.check import scene_of, simulate_in_mujoco
from core.export.targets.mujoco.xml import read_setup
from core.motion.recording import Recording
from core.motion.simulation import simulate_trajectory
from core.motion.trajectories import PAPER_TRAJECTORIES, make_trajectory
from core.servo.bench import Bench
from core.servo.catalogue import load_servo
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings

PENDULUM = Bench(mass=0.5, length=0.15)


def catalogue_model(servo, friction, *, drive="slow decay", current_limit=0.0, command_path=(), values=None, **options):
    """A model of a catalogue servo at its start values, with some of them changed."""
    spec = load_servo(servo)
    spec = replace(spec, control=replace(spec.control, drive=drive, current_limit=current_limit))
    return ServoModel(
        servo=spec.name,
        friction=friction,
        control=spec.control,
        supply_voltage=spec.supply_voltage,
        parameters=spec.parameters(friction, command_path).with_values(values or {}),
        **options,
    )


def errors_in_mujoco(folder, model, timestep=1e-4, trajectories=PAPER_TRAJECTORIES):
    """Mean absolute error of an exported scene against the converged model by trajectory [mrad]; timestep [s]."""
    scene = scene_of(folder, model)
    setup = read_setup(scene)
    bench, own = Bench.from_json(dict(setup["bench"])), ServoSettings.from_json(setup["settings"])
    errors = {}
    for name in trajectories:
        run = GridRun(trajectory=name, bench=bench, settings=own)
        expected = converged_positions(model, run, timestep, held=True)
        actual = simulate_in_mujoco(scene, run, timestep, model.values.get("command_delay", 0.0))
        errors[name] = 1e3 * float(np.abs(actual - expected[: len(actual)]).mean())
    return errors


def settings_for(model, **changes):
    return replace(model.default_settings(), **changes)


def commands(model, goal, *, enable=None, step=1.0 / 256.0, bench=PENDULUM, settings=None, **channels):
    """A recording that holds nothing but commands, every step [s], from rest at 0."""
    goal = np.asarray(goal, dtype=float)
    return Recording(
        id="commands",
        trajectory="commands",
        bench=bench,
        settings=settings or model.default_settings(),
        channels={
            "time": step * np.arange(len(goal)),
            "goal_position": goal,
            "torque_enable": np.ones(len(goal)) if enable is None else np.asarray(enable, dtype=float),
            "position": np.zeros(len(goal)),
            **channels,
        },
    )


def recorded(model, trajectory, bench=PENDULUM, kp=None, *, name="", step=0.005, duration=None, noise=0.0, seed=0):
    """A model's own motion as a recording, with a sample every step [s] and white noise on its angle [rad]."""
    path, settings = make_trajectory(trajectory, duration), model.default_settings(kp)
    motion = simulate_trajectory(model, path, bench, settings, step)
    return Recording(
        id=name or f"{trajectory}_{bench.mass}_{settings.kp:g}",
        trajectory=trajectory,
        bench=bench,
        settings=settings,
        channels={
            "time": motion.time,
            "goal_position": motion.goal_position,
            "torque_enable": path.torque_enable(motion.time),
            "position": motion.position + noise * np.random.default_rng(seed).normal(size=len(motion.time)),
        },
    )


LAW_MODELS = {
    "voltage": {"servo": "mx106", "drive": "slow decay"},
    "current": {"servo": "erob80_100", "drive": "slow decay"},
    "coast": {"servo": "mx106", "drive": "fast decay"},
    "limited": {"servo": "mx106", "current_limit": 1.5},
}


@pytest.fixture
def random():
    return np.random.default_rng(20240)
