"""Description of a servo, read from a TOML file whose entries are all checked."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from core.base.errors import ModelError
from core.base.guards import is_array, is_object
from core.servo.actuator import (
    DRIVES,
    FAST_DECAY,
    LAWS,
    LONGEST_PERIOD,
    SLOW_DECAY,
    ControlLaw,
    command_path_parameters,
    motor_parameters,
    speed_loop_parameters,
)
from core.servo.bench import Bench
from core.servo.friction import friction_parameters
from core.servo.parameters import ParameterSet

SMALLEST_RATING, LARGEST_RATING = 1e-9, 1e9
"""Bounds of every rating, in SI units."""
MOST_TURNS = 1e4
"""Largest end of a position range, in either direction [rad]."""
LONGEST_SHOWN = 60
"""Number of characters of a wrong value that an error repeats."""
SMALLEST_ROTOR = 1e-15
"""Smallest inertia of a rotor at its own shaft [kg·m²]."""
ROTOR_KNOWN_WITHIN = 2.0
"""Factor of the bounds around N²·J_r: gears and shaft add to the rotor of a data sheet."""
NAME = re.compile(r"[a-z0-9][a-z0-9_]{0,39}")
ALIAS = re.compile(r"[a-z0-9][a-z0-9_.()+-]{0,39}")


@dataclass(frozen=True, kw_only=True)
class ServoSpec:
    """Description of one servo of the catalogue.

    Example:
        >>> sb.load_servo("mx106").supply_range
        (10.0, 16.0)
    """

    name: str
    title: str
    vendor: str
    aliases: tuple[str, ...]
    model_number: int
    control: ControlLaw
    default_kp: float
    supply_voltage: float
    """Nominal supply voltage [V]."""
    supply_range: tuple[float, float]
    """Lowest and highest supply voltage [V]."""
    stall_torque: float
    """Rated stall torque [N·m]."""
    no_load_speed: float
    """Rated no-load speed [rad/s]."""
    max_current: float
    """Rated current [A]."""
    max_temperature: float
    """Temperature limit [°C]."""
    encoder_counts_per_turn: int
    position_range: tuple[float, float]
    """Lowest and highest position [rad]."""
    gear_ratio: float | None = None
    """Turns of the motor per turn of the output shaft, N; None if the file does not state it."""
    motor: Mapping[str, tuple[float, float, float]]
    """Start value, lowest and highest value of kt [N·m/A], R [Ω] and armature [kg·m²]."""
    buses: Mapping[str, Mapping[str, Any]]
    """Settings for the driver by bus, from [bus.NAME] of the file; the driver reads them."""
    sources: Mapping[str, str]
    file: str = field(default="", repr=False)
    """Text of the servo's file, which models carry along; empty for a shipped servo."""

    @property
    def names(self) -> tuple[str, ...]:
        """Name and aliases."""
        return (self.name, *self.aliases)

    @property
    def encoder_step(self) -> float:
        """Smallest angle that the encoder resolves [rad]."""
        return 2.0 * math.pi / self.encoder_counts_per_turn

    def is_variant_of(self, other: ServoSpec) -> bool:
        """Return True for another variant of the same servo: both report the same model number on the bus."""
        same = (self.vendor, self.model_number) == (other.vendor, other.model_number)
        return same and self.model_number > 0 and self.name != other.name

    def is_wound_like(self, variant: ServoSpec) -> bool:
        """Return True for a variant with the same winding: each runs on the other's nominal supply."""
        return self.runs_on(variant.supply_voltage) and variant.runs_on(self.supply_voltage)

    def runs_on(self, voltage: float) -> bool:
        """Return True for a supply within `supply_range`; voltage [V]."""
        return self.supply_range[0] <= voltage <= self.supply_range[1]

    def too_weak(self, bench: Bench) -> str:
        """Return that the servo cannot hold the load of a bench with a horizontal arm; empty if it can."""
        if bench.gravity_torque <= self.stall_torque:
            return ""
        load = "this load" if bench.measured_inertia is not None else f"{bench.mass:g} kg at {bench.length:g} m"
        return (
            f"{self.title}, {self.stall_torque:g} N·m, cannot hold {load}, "
            f"which pulls with {bench.gravity_torque:.3g} N·m at 90°"
        )

    @property
    def rounding_error(self) -> float:
        """Mean error of an angle that the encoder rounds [rad]: a quarter of its step."""
        return self.encoder_step / 4.0

    def commanded_by(self, kind: str) -> ControlLaw:
        """Return the control law for one of `core.servo.actuator.COMMANDS`."""
        return self.control.commanded_by(kind, self.motor, self.supply_voltage)

    def parameters(
        self, friction: str, command_path: tuple[str, ...] = (), contact: str = "rigid", command: str = "position"
    ) -> ParameterSet:
        """Return the parameters of a model of this servo, with start values and bounds scaled to its ratings."""
        control = self.commanded_by(command)
        found = ParameterSet(
            [
                *motor_parameters(self.motor, control.drive),
                *friction_parameters(friction, self.stall_torque, self.no_load_speed, contact),
                *speed_loop_parameters(control, self.no_load_speed),
                *command_path_parameters(command_path, self.no_load_speed, command),
            ]
        )
        limit = found.get("output_limit_ratio")
        if limit is not None and control.law == "voltage":
            # No duty cycle is above 1.
            found = found.with_bounds({limit.name: (limit.lower, min(limit.upper, 1.0 / control.output_limit))})
        return found


def parse_servo(text: str, source: str = "servo file") -> ServoSpec:
    """Read one servo from TOML text.

    Args:
        text: Contents of the file.
        source: Name that errors begin with.

    Raises:
        ModelError: An entry is wrong. The message is one line with source, table, entry, value and what is allowed.
    """
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{source}: not TOML: {error}") from None
    top = _Table(source, "", data)
    control, ratings, motor = (top.table(name) for name in ("control", "ratings", "motor"))
    name, supply, allowed = top.name(), ratings.number("supply_voltage"), ratings.pair("supply_range", 0.0)
    if not allowed[0] <= supply <= allowed[1]:
        raise ratings.wrong("supply_voltage", supply, f"within supply_range, {allowed[0]:g} to {allowed[1]:g}")
    ratio = _gear_ratio(ratings, motor)
    spec = ServoSpec(
        name=name,
        title=top.text("title"),
        vendor=top.text("vendor", ""),
        aliases=top.aliases(name),
        model_number=top.whole("model_number", 0, default=0),
        control=_law(control),
        default_kp=control.number("default_kp"),
        supply_voltage=supply,
        supply_range=allowed,
        stall_torque=ratings.number("stall_torque"),
        no_load_speed=ratings.number("no_load_speed"),
        max_current=ratings.number("max_current"),
        max_temperature=ratings.number("max_temperature", 1.0, 1000.0),
        encoder_counts_per_turn=ratings.whole("encoder_counts_per_turn", 2),
        position_range=ratings.pair("position_range", -MOST_TURNS, MOST_TURNS),
        gear_ratio=ratio,
        motor={
            "kt": motor.start_and_bounds("kt"),
            "R": motor.start_and_bounds("R"),
            "armature": _armature(motor, ratio),
        },
        buses={bus: dict(entries) for bus, entries in top.tables("bus").items()},
        sources=top.texts("sources"),
    )
    for table in (top, control, ratings, motor):
        table.require_nothing_left()
    return spec


def _law(control: _Table) -> ControlLaw:
    """Read the control law. A file may state the limits of both laws; that of the other law is checked but not used."""
    law = control.text("law", among=LAWS)
    limits = {
        "voltage": control.number("max_duty", SMALLEST_RATING, 1.0, default=None if law == "voltage" else 1.0),
        "current": control.number("max_current", default=None if law == "current" else 1.0),
    }
    drive = control.text("drive", SLOW_DECAY, among=DRIVES)
    if drive == FAST_DECAY and law != "voltage":
        raise control.wrong("drive", drive, f"{SLOW_DECAY!r} with the current law")
    current_limit = control.number("current_limit", 0.0, default=0.0)
    if current_limit and (law != "voltage" or drive == FAST_DECAY):
        raise control.wrong("current_limit", current_limit, f"0 except with the voltage law and {SLOW_DECAY!r}")
    return ControlLaw(
        law=law,
        drive=drive,
        error_gain=control.number("error_gain"),
        integral_ratio=control.number("integral_ratio", 0.0, default=0.0),
        derivative_ratio=control.number("derivative_ratio", 0.0, default=0.0),
        output_limit=limits[law],
        damping=control.number("damping", 0.0, default=0.0),
        control_period=control.number("control_period", 0.0, LONGEST_PERIOD, default=0.0),
        current_limit=current_limit,
    )


def _gear_ratio(ratings: _Table, motor: _Table) -> float | None:
    """Read N ≥ 1 from [ratings], or from [motor] beside the rotor's inertia; None if neither states it."""
    if ratings.has("gear_ratio"):
        return ratings.number("gear_ratio", 1.0)
    if motor.has("gear_ratio") or motor.has("rotor_inertia"):
        return motor.number("gear_ratio", 1.0)
    return None


def _armature(motor: _Table, ratio: float | None) -> tuple[float, float, float]:
    """Read start and bounds of J_m, or take them from N²·J_r (Duclusaud et al., section II-A)."""
    if ratio is None or (motor.has("armature") and not motor.has("rotor_inertia")):
        return motor.start_and_bounds("armature")
    rotor = motor.number("rotor_inertia", SMALLEST_ROTOR)
    if motor.has("armature"):
        given = list(motor.start_and_bounds("armature"))
        raise motor.wrong("armature", given, "left out where rotor_inertia and gear_ratio give it")
    inertia = rotor * ratio**2
    if not SMALLEST_RATING <= inertia <= LARGEST_RATING:
        wanted = f"from {SMALLEST_RATING:g} to {LARGEST_RATING:g} kg·m² after multiplication with gear_ratio²"
        raise motor.wrong("rotor_inertia", rotor, wanted)
    return inertia, inertia / ROTOR_KNOWN_WITHIN, inertia * ROTOR_KNOWN_WITHIN


class _Table:
    """Table of a servo file from which entries are taken one by one."""

    def __init__(self, source: str, title: str, entries: Mapping[str, Any]) -> None:
        self._source, self._title = source, title
        self._left, self._known = dict(entries), list[str]()

    def wrong(self, name: str, value: Any, wanted: str) -> ModelError:
        shown = repr(value)
        if len(shown) > LONGEST_SHOWN:
            shown = shown[:LONGEST_SHOWN] + "…"
        return ModelError(f"{self._source}: {self._title}{name} = {shown} must be {wanted}")

    def require_nothing_left(self) -> None:
        for name in self._left:
            known = ", ".join(self._known)
            raise ModelError(
                f"{self._source}: {self._title}unknown entry {name[:LONGEST_SHOWN]!r}; choose from {known}"
            )

    def has(self, name: str) -> bool:
        return name in self._left

    def text(self, name: str, default: str | None = None, among: tuple[str, ...] = ()) -> str:
        value = self._take(name, default)
        if among and value not in among:
            raise self.wrong(name, value, f"one of {', '.join(among)}")
        if not isinstance(value, str) or not value.isprintable() or (not value and default is None):
            raise self.wrong(name, value, "a text on one line")
        return value

    def number(
        self, name: str, low: float = SMALLEST_RATING, high: float = LARGEST_RATING, default: float | None = None
    ) -> float:
        value = self._take(name, default)
        if not _is_number(value, low, high):
            raise self.wrong(name, value, f"a number from {low:g} to {high:g}")
        return float(value)

    def whole(self, name: str, low: int, high: int = 2**32, default: int | None = None) -> int:
        value = self._take(name, default)
        if not isinstance(value, int) or not _is_number(value, low, high):
            raise self.wrong(name, value, f"a whole number from {low} to {high}")
        return value

    def pair(self, name: str, low: float, high: float = LARGEST_RATING) -> tuple[float, float]:
        return self._numbers(name, 2, low, high, lambda v: v[0] < v[1], "[lowest, highest] with lowest < highest")

    def start_and_bounds(self, name: str) -> tuple[float, float, float]:
        wanted = "[start, lowest, highest] with lowest ≤ start ≤ highest and lowest < highest"

        def fits(v: list[float]) -> bool:
            return v[1] <= v[0] <= v[2] and v[1] < v[2]

        return self._numbers(name, 3, SMALLEST_RATING, LARGEST_RATING, fits, wanted)

    def name(self) -> str:
        value = self._take("name", None)
        if not isinstance(value, str) or not NAME.fullmatch(value):
            raise self.wrong("name", value, "1 to 40 of a-z, 0-9 and _, e.g. 'my_servo'")
        return value

    def aliases(self, name: str) -> tuple[str, ...]:
        values = self._take("aliases", [])
        if not is_array(values) or not all(isinstance(v, str) and ALIAS.fullmatch(v) for v in values):
            raise self.wrong("aliases", values, "a list of texts of a-z, 0-9 and _.()+-, e.g. ['my-servo']")
        if len({name, *values}) <= len(values):
            raise self.wrong("aliases", values, f"different from each other and from the name {name!r}")
        return tuple(values)

    def table(self, name: str) -> _Table:
        value = self._take(name, None)
        if not is_object(value):
            raise self.wrong(name, value, f"a table, [{name}]")
        return _Table(self._source, f"[{name}] ", value)

    def tables(self, name: str) -> Mapping[str, Mapping[str, Any]]:
        value = self._take(name, {})
        if not is_object(value) or not all(isinstance(entry, dict) for entry in value.values()):
            raise self.wrong(name, value, f"a table of tables, [{name}.NAME]")
        return value

    def texts(self, name: str) -> Mapping[str, str]:
        value = self._take(name, {})
        if not is_object(value) or not all(isinstance(entry, str) for entry in value.values()):
            raise self.wrong(name, value, f"a table of texts, [{name}]")
        return value

    def _take(self, name: str, default: Any) -> Any:
        self._known.append(name)
        value = self._left.pop(name, default)
        if value is None:
            raise ModelError(f"{self._source}: {self._title}entry {name!r} is missing")
        return value

    def _numbers(
        self, name: str, count: int, low: float, high: float, fits: Callable[[list[float]], bool], wanted: str
    ) -> Any:
        value = self._take(name, None)
        good = is_array(value) and len(value) == count and all(_is_number(v, low, high) for v in value)
        if not good or not fits(value):
            raise self.wrong(name, value, f"{wanted}, numbers from {low:g} to {high:g}")
        return tuple(float(v) for v in value)


def _is_number(value: Any, low: float, high: float) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high
