"""Motor, gearbox and pendulum behind an emulated wire: the simulated servo's plant in real time, and its faults."""

from __future__ import annotations

import math
from dataclasses import replace

from core.servo.bench import Bench
from core.servo.catalogue import ServoSpec
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings
from core.servo.shipped import nominal_model
from drivers import timing
from drivers.emulators.console import Console, number, switch
from drivers.simulated.hand import SharedHand
from drivers.simulated.plant import TICK, Imperfections, Plant, PlantGoal
from drivers.simulated.servo import starting_bench

HAND_STIFFNESS = 8.0
"""Stiffness of the hand that the console moves, as a multiple of the gravity torque [1/rad]."""


class Mechanism:
    """One servo's moving parts. Time is the machine's; call `advance` before reading."""

    def __init__(
        self,
        spec: ServoSpec,
        hand: SharedHand,
        *,
        model: ServoModel | None = None,
        bench: Bench | None = None,
        imperfections: Imperfections | None = None,
    ) -> None:
        """Create the parts, hanging at rest.

        Args:
            spec: The catalogue servo.
            hand: Hand on the pendulum.
            model: True model; None for the catalogue's best.
            bench: Load; None for one that is easy to lift.
            imperfections: Delays, noise and resolution.
        """
        self.spec = spec
        self.hand = hand
        self.truth = nominal_model(spec) if model is None else model
        self.plant = Plant(
            spec, self.truth, bench or starting_bench(spec), imperfections or Imperfections(encoder_step=0.0), hand
        )
        self._stuck_at = math.nan
        self._heat = math.nan
        self._supply = math.nan
        # The first steps load the compiled kernel; afterwards no answer waits for that.
        self.plant.advance_to(2 * TICK)
        self._begin = timing.now() - 2 * TICK

    def now(self) -> float:
        """Return the time since the plant was created [s]."""
        return timing.now() - self._begin

    def advance(self) -> None:
        """Advance to the current time."""
        self.plant.advance_to(self.now())

    @property
    def position(self) -> float:
        """Position seen by the encoder [rad]."""
        return self.plant.position if math.isnan(self._stuck_at) else self._stuck_at

    @property
    def velocity(self) -> float:
        """True velocity; 0 for a stuck encoder [rad/s]."""
        return self.plant.velocity if math.isnan(self._stuck_at) else 0.0

    @property
    def temperature(self) -> float:
        """Reported temperature [°C]."""
        return self.plant.temperature if math.isnan(self._heat) else self._heat

    @property
    def electrics(self) -> tuple[float, float, float]:
        """Current [A], duty cycle and supply voltage [V]."""
        current, duty_cycle, supply = self.plant.electrics
        return current, duty_cycle, supply if math.isnan(self._supply) else self._supply

    def configure(self, settings: ServoSettings) -> None:
        """Apply gains and supply voltage of the position law."""
        self.plant.configure(settings)

    def drive(self, goal: PlantGoal) -> None:
        """Drive the motor from now on."""
        self.advance()
        self.plant.command(goal, self.now())

    def release(self) -> None:
        """Switch the motor off."""
        self.plant.release(self.now())

    @property
    def driven(self) -> bool:
        """True if the motor is really driven, for tests."""
        return self.plant.driven

    # The console.

    def add_commands(self, console: Console) -> None:
        """Add the commands that act on the pendulum and on the servo's measurements."""
        console.add("state", "state", "print the true state of the pendulum and the motor", self._say_state)
        console.add("load", "load KG METRE [ROD_KG]", "replace the load on the shaft", self._hang)
        usage = "hand torque NM | hand angle DEG | hand off"
        console.add("hand", usage, "push the pendulum, or pull it to an angle", self._push)
        console.add("temperature", "temperature DEGC | off", "report another temperature", self._set_heat)
        console.add("supply", "supply VOLT | off", "report another supply voltage", self._set_supply)
        console.add("stuck", "stuck on | off", "freeze the position that the encoder reports", self._stick)

    def _say_state(self, words: list[str]) -> str:
        self.advance()
        current, duty_cycle, supply = self.plant.electrics
        return (
            f"driven={int(self.driven)} position={self.plant.position:.6f} velocity={self.plant.velocity:.6f} "
            f"current={current:.4f} duty_cycle={duty_cycle:.4f} supply={supply:.3f} temperature={self.temperature:.1f}"
        )

    def _hang(self, words: list[str]) -> None:
        mass, length = number(words[0], 0.0), number(words[1], 0.0)
        rod = number(words[2], 0.0) if len(words) > 2 else 0.0
        self.advance()
        self.plant.mount(replace(self.plant.bench, mass=mass, length=length, arm_mass=rod))

    def _push(self, words: list[str]) -> None:
        if words[0] == "off":
            self.hand.let_go()
            self.hand.torque = 0.0
        elif words[0] == "torque":
            self.hand.torque = number(words[1])
        elif words[0] == "angle":
            bench = self.plant.bench
            stiffness = HAND_STIFFNESS * max(bench.gravity_torque, 0.1 * self.spec.stall_torque)
            inertia = bench.inertia + self.truth.values["armature"]
            self.hand.pull_to(math.radians(number(words[1])), stiffness, 1.4 * math.sqrt(stiffness * inertia))
        else:
            raise ValueError(f"unknown word {words[0]!r}")

    def _set_heat(self, words: list[str]) -> None:
        self._heat = math.nan if words[0] == "off" else number(words[0], -40.0, 200.0)

    def _set_supply(self, words: list[str]) -> None:
        self._supply = math.nan if words[0] == "off" else number(words[0], 0.0, 100.0)

    def _stick(self, words: list[str]) -> None:
        self.advance()
        self._stuck_at = self.plant.position if switch(words[0]) else math.nan
