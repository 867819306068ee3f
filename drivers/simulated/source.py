"""The simulated servo as a picklable description, and as an address."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from core.base.errors import ServoBenchError
from core.base.numbers import parse_number, parse_whole
from core.servo.bench import Bench
from core.servo.catalogue import ServoSpec, load_servo
from core.servo.model import ServoModel, with_contact
from core.servo.shipped import load_model, nominal_model
from core.servo.terms import FRICTION_MODELS
from drivers import timing
from drivers.clock import Clock, RealClock, StandingClock, VirtualClock
from drivers.errors import AddressError
from drivers.registry import ServoAddress
from drivers.simulated.actuators import SERVO, PlantActuator, plant_actuator
from drivers.simulated.plant import Hand, Imperfections
from drivers.simulated.servo import SimulatedServo, no_hand

CLOCKS = ("real", "virtual")
DEFAULT_NAME = "mx106"
FASTEST = 20.0
"""Highest speed of the real clock; the plant has to be computed that fast."""
SLOWEST = 0.1


@dataclass(frozen=True, kw_only=True)
class SimulatedSource:
    """Description of a simulated servo; equal ones move in the same way every time on the virtual clock."""

    name: str = DEFAULT_NAME
    model: ServoModel | None = None
    """True model; None for the servo's M6."""
    bench: Bench | None = None
    """Load until a run mounts another one; None for one that the servo lifts with ease."""
    imperfections: Imperfections = field(default_factory=Imperfections)
    hand: Hand = no_hand
    """A SharedHand, or a function of time, position and velocity defined in a module."""
    clock: str = "real"
    """"real" or "virtual" (as fast as possible)."""
    speed: float = 1.0
    """Seconds of the real clock per second of the machine; the virtual clock has no speed."""
    seed: int = 0
    actuator: PlantActuator | None = None
    """Actuator that moves the shaft; None for the servo's own motor."""

    def __post_init__(self) -> None:
        if self.clock not in CLOCKS:
            raise AddressError(f"simulated servo: unknown clock {self.clock!r}; there are {', '.join(CLOCKS)}")
        if not SLOWEST <= self.speed <= FASTEST:
            raise AddressError(
                f"simulated servo: a speed of {self.speed:g} is not possible; choose {SLOWEST:g} to {FASTEST:g}"
            )

    def open(self) -> SimulatedServo:
        """Return the servo, not yet connected."""
        return SimulatedServo(
            self.name,
            model=self.model,
            bench=self.bench,
            imperfections=self.imperfections,
            hand=self.hand,
            clock=self._clock(),
            seed=self.seed,
            actuator=self.actuator,
        )

    def _clock(self) -> Clock:
        if self.clock == "virtual":
            return VirtualClock()
        return StandingClock(self.speed) if timing.limits.simulated_stands_still else RealClock(self.speed)


def from_address(address: ServoAddress) -> SimulatedSource:
    """Return the description for `simulated[:NAME][?option=value&…]`.

    Raises:
        AddressError: for another form or an invalid value.
    """
    if len(address.parts) > 1:
        raise AddressError(
            f"servo address {address}: a simulated servo is written simulated:NAME, e.g. simulated:mx106"
        )
    numbers = {f.name for f in fields(Imperfections)}
    imperfections: dict[str, float] = {}
    try:
        spec = load_servo(address.parts[0] if address.parts and address.parts[0] else DEFAULT_NAME)
        model, contact, clock, speed, seed = None, "rigid", "real", 1.0, 0
        actuator, preset = SERVO, ""
        for name, value in address.options:
            if name == "model":
                model = _model(spec, value)
            elif name == "contact":
                contact = value
            elif name == "actuator":
                actuator = value
            elif name == "preset":
                preset = value
            elif name == "clock":
                clock = value
            elif name == "speed":
                speed = parse_number(value)
            elif name == "seed":
                seed = parse_whole(value)
            elif name in numbers:
                imperfections[name] = parse_number(value)
            else:
                known = ", ".join(
                    ("model", "contact", "actuator", "preset", "clock", "speed", "seed", *sorted(numbers))
                )
                raise AddressError(f"unknown option {name!r}; there are {known}")
        if model is None:
            model = nominal_model(spec)
        if contact != "rigid":
            model = with_contact(model, contact)
        return SimulatedSource(
            name=spec.name,
            model=model,
            imperfections=Imperfections(**imperfections),
            clock=clock,
            speed=speed,
            seed=seed,
            actuator=plant_actuator(actuator, preset),
        )
    except (ServoBenchError, ValueError) as error:
        raise AddressError(f"servo address {address}: {error}") from None


def _model(spec: ServoSpec, text: str) -> ServoModel:
    if text.endswith(".json"):
        return ServoModel.read(text)
    return nominal_model(spec, text) if text in FRICTION_MODELS else load_model(spec.name, text)
