"""The servo catalogue: hardware facts as data, read from `resources/servos/*.toml`, and the models shipped for them."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from core.actuator import ControlLaw, command_path_parameters, motor_parameters
from core.errors import ModelError
from core.friction import FRICTION_MODELS, friction_parameters
from core.parameters import ParameterSet

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from core.model import ServoModel

SMALLEST_RATING, LARGEST_RATING = 1e-9, 1e9
"""Of any servo, SI units."""

PUBLISHED = "-published"
"""Ends the names of models as they were published: `mx106:m6-published` is the original of `mx106:m6`."""


@dataclass(frozen=True, kw_only=True)
class ServoSpec:
    """One servo of the catalogue."""

    name: str
    title: str
    vendor: str
    aliases: tuple[str, ...]
    model_number: int
    control: ControlLaw
    default_kp: float
    supply_voltage: float
    """Nominal [V]"""
    supply_range: tuple[float, float]
    """[V]"""
    stall_torque: float
    """[N·m]"""
    no_load_speed: float
    """[rad/s]"""
    max_current: float
    """[A]"""
    max_temperature: float
    """[°C]"""
    encoder_counts_per_turn: int
    position_range: tuple[float, float]
    """[rad]"""
    motor: Mapping[str, tuple[float, float, float]]
    """kt [N·m/A], R [Ω], armature [kg·m²]: start, lowest, highest."""
    buses: Mapping[str, Mapping[str, Any]]
    """Bus to what its driver has to know, as the file says it under [bus.NAME]; the driver reads it."""
    sources: Mapping[str, str]

    @property
    def encoder_step(self) -> float:
        """[rad]"""
        return 2.0 * math.pi / self.encoder_counts_per_turn

    def parameters(self, friction: str, command_path: tuple[str, ...] = (), contact: str = "rigid") -> ParameterSet:
        """Parameters of a model of this servo with start values and bounds from its ratings."""
        return ParameterSet(
            [
                *motor_parameters(self.motor, self.control.bridge),
                *friction_parameters(friction, self.stall_torque, self.no_load_speed, contact),
                *command_path_parameters(command_path, self.no_load_speed),
            ]
        )


def parse_servo(text: str, source: str = "servo file") -> ServoSpec:
    """Read one servo from TOML text; raises ModelError naming the entry that is missing or wrong."""
    try:
        data = tomllib.loads(text)
        control, ratings = data["control"], data["ratings"]
        law = ControlLaw(
            law=control["law"],
            bridge=control.get("bridge", "brake"),
            error_gain=float(control["error_gain"]),
            integral_ratio=float(control.get("integral_ratio", 0.0)),
            derivative_ratio=float(control.get("derivative_ratio", 0.0)),
            output_limit=float(control["max_duty"] if control["law"] == "voltage" else control["max_current"]),
            damping=float(control.get("damping", 0.0)),
        )
        return ServoSpec(
            name=data["name"],
            title=data["title"],
            vendor=data["vendor"],
            aliases=tuple(data.get("aliases", ())),
            model_number=int(data["model_number"]),
            control=law,
            default_kp=float(control["default_kp"]),
            supply_voltage=_rating(ratings, "supply_voltage"),
            supply_range=_pair(ratings["supply_range"]),
            stall_torque=_rating(ratings, "stall_torque"),
            no_load_speed=_rating(ratings, "no_load_speed"),
            max_current=_rating(ratings, "max_current"),
            max_temperature=float(ratings["max_temperature"]),
            encoder_counts_per_turn=int(ratings["encoder_counts_per_turn"]),
            position_range=_pair(ratings["position_range"]),
            motor={name: _triple(data["motor"][name]) for name in ("kt", "R", "armature")},
            buses={name: dict(entries) for name, entries in data.get("bus", {}).items()},
            sources=dict(data.get("sources", {})),
        )
    except KeyError as error:
        raise ModelError(f"{source}: entry {error.args[0]!r} is missing") from None
    except (TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ModelError(f"{source}: {error}") from None


def _rating(ratings: Mapping[str, Any], name: str) -> float:
    """A rating that start values and bounds can be scaled with."""
    value = float(ratings[name])
    if not SMALLEST_RATING <= value <= LARGEST_RATING:
        raise ValueError(f"ratings: {name} = {value} must be a number from {SMALLEST_RATING:g} to {LARGEST_RATING:g}")
    return value


def _pair(values: Any) -> tuple[float, float]:
    low, high = values
    return float(low), float(high)


def _triple(values: Any) -> tuple[float, float, float]:
    start, low, high = values
    return float(start), float(low), float(high)


def _resources() -> Traversable:
    return files("resources")


@cache
def servos() -> dict[str, ServoSpec]:
    """Every servo of the catalogue by name, in alphabetical order."""
    folder = _resources() / "servos"
    entries = sorted((e for e in folder.iterdir() if e.name.endswith(".toml")), key=lambda e: e.name)
    specs = [parse_servo(entry.read_text("utf-8"), entry.name) for entry in entries]
    return {spec.name: spec for spec in specs}


def load_servo(name: str) -> ServoSpec:
    """Return a servo by name or alias, in any case; raises ModelError naming the known ones."""
    wanted = str(name).lower()
    for spec in servos().values():
        if wanted == spec.name or wanted in spec.aliases:
            return spec
    raise ModelError(f"no servo {name!r} in the catalogue; there are {', '.join(servos())}")


@cache
def shipped_models(servo: str) -> tuple[str, ...]:
    """Friction models that come with a servo, e.g. ("m1", "m2"); empty when none was identified."""
    folder = _resources() / "models" / load_servo(servo).name
    return tuple(m for m in FRICTION_MODELS if (folder / f"{m}.json").is_file())


@cache
def published_originals(servo: str) -> tuple[str, ...]:
    """Names of the published originals of shipped models, e.g. ("m1-published",); empty when there are none.

    They carry the integrator and step they were identified with.
    """
    folder = _resources() / "models" / load_servo(servo).name
    return tuple(m + PUBLISHED for m in FRICTION_MODELS if (folder / f"{m}{PUBLISHED}.json").is_file())


@cache
def load_model(servo: str, variant: str) -> ServoModel:
    """Return a model that comes with a servo, e.g. load_model("mx106", "m6") or, as published, "m6-published".

    Raises ModelError when there is none.
    """
    from core.model import ServoModel

    spec, name = load_servo(servo), variant.lower()
    known = (*shipped_models(servo), *published_originals(servo))
    if name not in known:
        raise ModelError(f"no model {variant!r} is shipped for {spec.name}; there is {', '.join(known) or 'none'}")
    entry = _resources() / "models" / spec.name / f"{name}.json"
    return ServoModel.from_json_text(entry.read_text("utf-8"), entry.name)


def nominal_model(spec: ServoSpec) -> ServoModel:
    """Return the best a catalogue servo is known by: its shipped M6, else M6 with the values a fit starts from.

    What a driver converts between torque and current with, and the truth a simulated or emulated servo moves by.
    """
    from core.model import ServoModel

    if "m6" in shipped_models(spec.name):
        return load_model(spec.name, "m6")
    return ServoModel(
        servo=spec.name,
        friction="m6",
        control=spec.control,
        supply_voltage=spec.supply_voltage,
        parameters=spec.parameters("m6"),
    )
