"""Scene of the Webots tab: one servo on the bench's pendulum, one command, one push; plain data without Qt."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.bench import Bench
from core.studies.webots.chain import Chain, single
from core.studies.webots.experiments import play
from core.studies.webots.fields import ServoFields, load_of
from core.studies.webots.servo import FORCE, POSITION, VELOCITY
from core.studies.webots.trace import Trace

Array = NDArray[np.float64]

DURATION = 4.0
"""Of the picture [s]."""
COMMANDED_AT = 0.25
"""The servo holds its first position until then [s]."""
PUSHED_FROM, PUSHED_TO = 2.0, 3.0
"""[s]"""


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Simulation to run."""

    fields: ServoFields
    mode: str = POSITION
    """POSITION, VELOCITY or FORCE"""
    target: float = 1.2
    """Of position control [rad]"""
    velocity: float = 2.0
    """Of velocity control [rad/s]"""
    force: float = 0.5
    """Of force control [N·m]"""
    mass: float = 0.5
    """At the end of a rod without mass [kg]"""
    length: float = 0.15
    """[m]"""
    push: float = 0.0
    """On the pendulum from PUSHED_FROM to PUSHED_TO [N·m]"""
    step: float = 0.008
    """`basicTimeStep` [s]"""


@dataclass(frozen=True, kw_only=True, eq=False)
class Shown:
    """Result of a scene; all arrays (n,)."""

    scene: Scene
    trace: Trace
    spring: Array
    """[N·m]"""
    damper: Array
    """[N·m]"""
    push: Array
    """[N·m]"""


def simulated(scene: Scene) -> Shown:
    """Simulate a scene, some hundredths of a second; raises ModelError."""
    chain = single(scene.fields, load_of(Bench(mass=scene.mass, length=scene.length)))
    servo = chain.servos[0]

    def act(now: float, _: Chain) -> None:
        if now < COMMANDED_AT:
            return
        low, high = scene.fields.soft_limits
        if scene.mode == POSITION:
            servo.set_position(min(max(scene.target, low), high))
        elif scene.mode == VELOCITY:
            servo.set_position(math.inf)
            most = scene.fields.max_velocity
            servo.set_velocity(min(max(scene.velocity, -most), most))
        elif scene.mode == FORCE:
            most = servo.motor_force
            servo.set_force(min(max(scene.force, -most), most))

    def push(now: float) -> float:
        return scene.push if PUSHED_FROM <= now < PUSHED_TO else 0.0

    (trace,) = play(chain, scene.step, DURATION, act, push)
    after = np.append(trace.velocity[1:], servo.velocity)
    return Shown(
        scene=scene,
        trace=trace,
        spring=-scene.fields.spring_constant * trace.position,
        damper=-scene.fields.damping_constant * after,
        push=np.array([push(now) for now in trace.time.tolist()]),
    )
