"""A small arm of three servos and its motions under known models."""

from dataclasses import replace

import numpy as np

from core.motion.recording import JOINT, LOAD_CHANNELS, MOTION, Recording
from core.motion.simulation import simulate_recording
from core.servo.bench import Bench
from core.servo.settings import ServoSettings
from core.servo.shipped import load_model

ARM = """
<mujoco><worldbody><body>
  <joint name="pan" axis="0 0 1" range="-90 90"/><inertial pos="0 0 0.05" mass="0.2" diaginertia="1e-4 1e-4 1e-4"/>
  <body pos="0 0 0.1">
    <joint name="lift" axis="0 1 0" range="-90 90"/><inertial pos="0.06 0 0" mass="0.3" diaginertia="2e-4 2e-4 2e-4"/>
    <body pos="0.12 0 0" euler="0 0 30">
      <joint name="elbow" axis="0 1 0" range="-100 100"/>
      <inertial pos="0.07 0 0" mass="0.4" diaginertia="2e-4 2e-4 2e-4"/>
    </body>
  </body>
</body></worldbody></mujoco>
"""
NAMES = ("pan", "lift", "elbow")
SETTINGS = ServoSettings(servo="sts3215", kp=16.0, supply_voltage=12.1)
NO_LOAD = Bench(mass=0.0, length=0.0)
STEP = 0.02
ROUNDS = 4
"""Rounds after which the motions of the joints and the loads that follow from them agree."""


def goals(seed, duration=16.0):
    """Goals (n, 3) [rad]: steps to poses that are held, then swings."""
    random = np.random.default_rng(seed)
    time = np.arange(0.0, duration, STEP)
    poses = random.uniform(-0.8, 0.8, (3, 3))[np.minimum(time // 3.0, 2).astype(int)]
    swings = 0.5 * np.sin(np.outer(time, random.uniform(1.0, 3.0, 3)) + random.uniform(0.0, 6.0, 3))
    return time, np.where(time[:, None] < 9.0, poses, swings)


def recording(motion, joint, time, goal, position, settings=SETTINGS):
    """The run of one joint as it is stored: without its load."""
    channels = {"time": time, "goal_position": goal, "torque_enable": np.ones(len(time)), "position": position}
    of_robot = {JOINT: joint, MOTION: motion, "source_sha256": motion}
    return Recording(
        id=f"{motion}-{joint}",
        trajectory=motion,
        bench=NO_LOAD,
        settings=settings,
        channels=channels,
        provenance=of_robot,
    )


def planted(chain, model=None, count=3):
    """Runs of all joints in `count` motions: each joint moves as the model does below the load of the others."""
    model = model or load_model("sts3215", "m6")
    runs = []
    for seed in range(count):
        time, goal = goals(seed)
        position = np.tile(goal[:1], (len(time), 1))
        for _ in range(ROUNDS):
            loads, moved = chain.loads(NAMES, time, position), []
            for joint, load in enumerate(loads):
                run = recording("m", "j", time, goal[:, joint], position[:, joint])
                named = dict(zip((channel.name for channel in LOAD_CHANNELS), load.T, strict=True))
                moved.append(simulate_recording(model, replace(run, channels={**run.channels, **named})).position)
            position = np.column_stack(moved)
        step = model.spec.encoder_step
        position = step * np.round(position / step)
        runs += [recording(f"motion{seed}", n, time, goal[:, j], position[:, j]) for j, n in enumerate(NAMES)]
    return runs
