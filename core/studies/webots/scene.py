"""Scene of the Webots tab: one servo on the bench's pendulum, one command, one push; plain data without Qt."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.servo.bench import Bench
from core.studies.webots.chain import Chain, single
from core.studies.webots.experiments import play
from core.studies.webots.fields import ServoFields, load_of
from core.studies.webots.servo import FORCE, POSITION, VELOCITY
from core.studies.webots.trace import Trace

Array = NDArray[np.float64]

DURATION = 4.0
"""Duration of the simulated motion [s]."""
COMMANDED_AT = 0.25
"""Time of the command [s]; the servo holds its first position before it."""
PUSHED_FROM, PUSHED_TO = 2.0, 3.0
"""Start and end of the push [s]."""


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Servo, command and load to simulate."""

    fields: ServoFields
    mode: str = POSITION
    """Control mode: POSITION, VELOCITY or FORCE."""
    target: float = 1.2
    """Target of position control [rad]."""
    velocity: float = 2.0
    """Target of velocity control [rad/s]."""
    force: float = 0.5
    """Force of force control [N·m]."""
    mass: float = 0.5
    """Mass at the end of a massless rod [kg]."""
    length: float = 0.15
    """Length of the rod [m]."""
    push: float = 0.0
    """Torque on the pendulum from `PUSHED_FROM` to `PUSHED_TO` [N·m]."""
    step: float = 0.008
    """Time step `basicTimeStep` of the world [s]."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Shown:
    """Simulated motion of a scene; arrays (n,)."""

    scene: Scene
    trace: Trace
    spring: Array
    """Torque of the spring [N·m]."""
    damper: Array
    """Torque of the damper [N·m]."""
    push: Array
    """Torque of the push [N·m]."""


def simulated(scene: Scene) -> Shown:
    """Simulate a scene. This takes a few hundredths of a second, so it runs in the window's thread.

    Raises:
        ModelError: Fields of the node contradict each other.
    """
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
    # The damper acts implicitly: its force belongs to the velocity at the end of the time step.
    after = np.append(trace.velocity[1:], servo.velocity)
    return Shown(
        scene=scene,
        trace=trace,
        spring=-scene.fields.spring_constant * trace.position,
        damper=-scene.fields.damping_constant * after,
        push=np.array([push(now) for now in trace.time.tolist()]),
    )
