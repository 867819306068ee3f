"""Small experiments with a Webots Servo, for the help pages and the window."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.base.errors import ModelError
from core.servo.bench import Bench
from core.studies.webots.chain import Chain, single
from core.studies.webots.fields import Load, ServoFields, load_of
from core.studies.webots.servo import FORCE, POSITION, VELOCITY, ServoDevice
from core.studies.webots.trace import Trace, TraceLog

Act = Callable[[float, Chain], object]
"""Controller, called before each step with its time [s]."""
Push = Callable[[float], float]
"""Force on the last body at a time [s]."""

STEP = 0.008
"""`basicTimeStep` of the experiments [s]."""
LOAD = Load(inertia=0.01125, gravity_torque=0.736)
"""Pendulum of 0.5 kg at 0.15 m."""
LIGHT = Load(inertia=0.01125)
"""The same pendulum about a vertical axis."""
LONGEST = 200_000
"""Largest number of time steps of an experiment."""


def play(chain: Chain, step: float, duration: float, act: Act, push: Push | None = None) -> list[Trace]:
    """Simulate servos under a controller; return one trace per servo, from the base outwards."""
    if not (step > 0.0 and duration > 0.0 and duration / step <= LONGEST):
        raise ModelError(f"{duration:g} s in time steps of {step:g} s are not possible; at most {LONGEST} steps are")
    log = TraceLog(chain.servos)
    hand = [0.0] * len(chain.servos)
    for k in range(math.ceil(duration / step - 1e-9)):
        now = k * step
        act(now, chain)
        if push is not None:
            hand[-1] = push(now)
        log.begin(now)
        chain.step(step, hand)
        log.end()
    return log.traces()


def position_control() -> list[Trace]:
    """Move to one target, with and without an acceleration limit, and with too little force (3.42.5)."""
    fields = ServoFields(max_velocity=3.0)
    kinds = {
        "no limit": fields,
        "acceleration 10 rad/s²": replace(fields, acceleration=10.0),
        "maxForce 0.8 N·m": replace(fields, max_force=0.8),
    }
    return [
        play(single(each, LOAD, name), STEP, 2.0, lambda now, chain: chain.servos[0].set_position(1.2))[0]
        for name, each in kinds.items()
    ]


def modes() -> list[Trace]:
    """Switch between position, velocity, force and position control (3.42.5–3.42.7)."""

    def act(now: float, chain: Chain) -> None:
        servo = chain.servos[0]
        if now < 1.5:
            servo.set_position(1.0)
        elif now < 3.0:
            servo.set_position(math.inf)
            servo.set_velocity(-2.0)
        elif now < 4.0:
            servo.set_force(0.03)
        else:
            servo.set_position(0.0)
            servo.set_velocity(4.0)

    return play(single(ServoFields(acceleration=30.0, max_velocity=4.0), LIGHT, "servo"), STEP, 5.5, act)


def limits() -> list[Trace]:
    """Move to the soft limit, then push beyond what the motor can hold, up to the stop (3.42.8)."""
    fields = ServoFields(
        max_force=0.5, max_velocity=3.0, min_position=-0.8, max_position=0.8, min_stop=-1.2, max_stop=1.2
    )

    def act(now: float, chain: Chain) -> None:
        chain.servos[0].set_position(0.8)

    return play(single(fields, LIGHT, "servo"), STEP, 3.0, act, lambda now: 0.55 if 1.2 <= now < 2.0 else 0.0)


def forces() -> list[Trace]:
    """Simulate the rows of Table 3.7 from 0.8 rad; the motors' target is 0."""
    passive = ServoFields(max_force=0.0, position=0.8)
    kinds = {
        "regular motor": ServoFields(position=0.8, max_velocity=2.0),
        "spring and damper": replace(passive, spring_constant=0.8, damping_constant=0.03),
        "damper": replace(passive, damping_constant=0.03),
        "motor with friction": ServoFields(position=0.8, max_force=0.1, max_velocity=2.0, damping_constant=0.1),
        "spring without friction": replace(passive, spring_constant=0.8),
    }
    found: list[Trace] = []
    for name, fields in kinds.items():
        chain = single(fields, LIGHT, name)
        if name == "damper":
            chain.servos[0].velocity = -3.0
        found += play(chain, STEP, 3.0, lambda now, chain: chain.servos[0].set_position(0.0))
    return found


def series() -> list[Trace]:
    """Let a motor move the rest position of a spring and a damper (3.42.11, Fig. 3.28)."""
    motor = ServoDevice(ServoFields(max_velocity=3.0), "motor")
    spring = ServoDevice(ServoFields(max_force=0.0, spring_constant=1.5, damping_constant=0.02), "spring and damper")

    def act(now: float, chain: Chain) -> None:
        chain.servos[0].set_position(1.0 if now < 2.5 else 0.0)

    return play(Chain([motor, spring], [Load(inertia=0.002), LIGHT]), STEP, 5.0, act)


EXPERIMENTS: dict[str, tuple[str, Callable[[], list[Trace]]]] = {
    "position": ("Position control with limits of velocity, acceleration and force", position_control),
    "modes": ("Position, velocity and force control", modes),
    "limits": ("Soft limits and hard stops under a push", limits),
    "forces": ("Motor, spring and damper", forces),
    "series": ("A motor and a spring in series", series),
}
"""Title and function of each experiment, by name."""


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
