"""A servo that a hand pushes hard both ways, as the kernel moves it: the motion that every program must reproduce.

Goals jump, the torque goes off and on, both delays end within a step, and pushes drive the motor beyond what its supply
reaches at either end of its range.
"""

from dataclasses import dataclass, replace

import numpy as np

from core.kernel.layout import Slot
from core.kernel.rollout import OUTPUTS, initial_state, rollout_kernel
from core.motion.simulation import NO_LOAD
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings
from tests.core.conftest import LAW_MODELS, PENDULUM, catalogue_model

STEP, STEPS = 2e-3, 540
PATH = {
    "command_delay": 0.0131,
    "release_delay": 0.0047,
    "error_gain_ratio": 1.1,
    "goal_slew": 5.3,
    "dead_band": 0.01,
    "output_offset": 0.02,
    "pwm_lag": 0.004,
    "supply_sag": 0.3,
    "pulse_sag": 0.7,
    "release_braking": 0.4,
}
"""6.55 and 2.35 steps of delay."""
PERIOD = 3.7e-3
"""Control period of a model with the second-order step and a command path [s], no multiple of the time step."""


@dataclass(frozen=True)
class Pushed:
    """The servo, its commands and its motion: arrays (STEPS,), positions and velocities with one sample more."""

    model: ServoModel
    settings: ServoSettings
    goal: np.ndarray
    enable: np.ndarray
    hand: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    motor_torque: np.ndarray

    @property
    def inertia(self) -> float:
        """Load and armature [kg·m²]."""
        return PENDULUM.inertia + self.model.values["armature"]

    def require_both_ends(self) -> None:
        """Require that a current law meets what its supply reaches at either end, others their largest output."""
        kt, resistance = self.model.values["kt"], self.model.values["R"]
        current, emf = self.motor_torque / kt, kt * self.velocity[:-1]
        for side in (-1.0, 1.0):
            reach = (side * self.settings.supply_voltage - emf) / resistance
            if self.model.control.law == "current":
                near = np.abs(current - reach) < 0.1 * np.abs(reach)
            else:
                near = side * current * resistance > 0.9 * self.settings.supply_voltage
            assert np.count_nonzero(near) >= 5, side

    def external(self, position: np.ndarray) -> np.ndarray:
        """Gravity and the hand at positions (STEPS,) [N·m]."""
        return -PENDULUM.gravity_torque * np.sin(position + self.model.values["q_offset"]) + self.hand


def law_model(law: str, friction: str, path=None, **options) -> ServoModel:
    """A model of a control law with terms of the command path at these values."""
    path = path or {}
    return catalogue_model(friction=friction, command_path=tuple(path), values=path, **LAW_MODELS[law], **options)


def low_supply(model: ServoModel, **gains) -> ServoSettings:
    """Settings whose supply reaches hardly more than the output's limit, so that a back-EMF makes it the nearer one."""
    limit = model.control.output_limit
    supply = 1.1 * limit * model.values["R"] if model.control.law == "current" else 0.8 * model.supply_voltage
    return replace(model.default_settings(), supply_voltage=supply, **gains)


def pushed(law: str, friction: str = "m6", path=PATH, *, leapfrog: bool = False, seed: int = 3) -> Pushed:
    """Draw commands and pushes and move the servo by them."""
    random = np.random.default_rng(seed)
    integrator = "leapfrog" if leapfrog else "algorithm1"
    model = law_model(law, friction, path, integrator=integrator)
    if leapfrog and path:
        model = replace(model, control=replace(model.control, control_period=PERIOD))
    gains = {"ki": 2.0, "kd": 1.0} if model.control.integral_ratio and path else {}
    settings = low_supply(model, **gains)
    row = model.bound_row(PENDULUM, settings, STEP)
    strong = 2.0 * row[Slot.TORQUE_CONSTANT] * min(
        row[Slot.OUTPUT_LIMIT] * (1.0 if law == "current" else settings.supply_voltage / row[Slot.RESISTANCE]),
        settings.supply_voltage / row[Slot.RESISTANCE],
    )  # fmt: skip
    goal = np.repeat(random.uniform(-2.5, 2.5, STEPS // 36), 36)
    enable = np.repeat(random.random(STEPS // 45) > 0.25, 45).astype(float)
    hand = np.repeat(random.choice([-1.0, 0.0, 1.0], STEPS // 30), 30) * strong * random.uniform(0.5, 1.0, STEPS)
    out, state, one, nothing = np.empty((STEPS, len(OUTPUTS))), initial_state(0.0, 0.0), np.ones(STEPS), np.zeros(STEPS)
    kernel = rollout_kernel(*model.kernel_variant)
    kernel(
        row, state, goal, one, enable, settings.supply_voltage * one, NO_LOAD, hand, nothing, nothing,
        0, STEP, 1, out,
    )  # fmt: skip
    q, v = np.append(out[:, 0], state[0]), np.append(out[:, 1], state[1])
    return Pushed(model, settings, goal, enable, hand, q, v, out[:, OUTPUTS.index("motor_torque")])
