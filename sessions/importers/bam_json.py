"""BAM's JSON logs, raw and processed, as Rhoban/bam and projects based on it write them.

A log is an object of conditions (mass, length, kp, vin, motor, trajectory …) and `entries`, one object per
sample. Samples are kept exactly as recorded, at their irregular times. Unknown conditions are stored in the provenance
under "header".

A log names its servo and states its supply. If the servo does not run on that supply and a variant of it does, the log
is refused until the user says which one it is.

The meaning of `load` depends on the servo. For servos in PWM_STEPS it is the raw Present PWM, uint16 in two's
complement, and becomes the duty cycle; for all others it is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.base.errors import InputError, ModelError
from core.base.guards import is_array, is_object
from core.base.words import counted
from core.motion.recording import COUNT_CHANNELS, RECORDED_CHANNELS, Recording
from core.motion.trajectories import canonical_name
from core.servo.bench import STANDARD_GRAVITY, Bench
from core.servo.catalogue import ServoSpec, adopt_servo, load_servo, variants_on
from core.servo.settings import ServoSettings
from sessions.importers.kinds import NotARecordingError, RunList
from sessions.importers.plausible import check_conditions
from sessions.run_file.schema import CHANNEL_DTYPES
from sessions.strict_json import name, number, parse_json, storable

PWM_STEPS = {"xl330": 885.0}
"""Servo to the Present PWM value of the full supply voltage."""

REQUIRED_FIELDS = {"timestamp": "time", "goal_position": "goal_position", "position": "position"}
_THEIR_NAMES = {"speed": "velocity", "input_volts": "supply_voltage", "temp": "temperature"}
_THEIRS = {*REQUIRED_FIELDS.values(), *_THEIR_NAMES.values()}
OPTIONAL_FIELDS = _THEIR_NAMES | {
    channel.name: channel.name for channel in RECORDED_CHANNELS if channel.kind == "f8" and channel.name not in _THEIRS
}
"""Fields of an entry to channels. Only our exporter writes fields with the channel's own name, as COUNT_CHANNELS."""

OWN_KEY = "servobench"
"""Header key under which our exporter keeps values that BAM has no field for."""

_FILE_DATE = re.compile(r"(\d{4}-\d\d-\d\d)[_T](\d\d)[h:]?(\d\d)[m:]?(\d\d)", re.ASCII)


class UnclearServoError(InputError):
    """A log's servo does not run on the supply that the log states, while variants of it do."""

    def __init__(self, spec: ServoSpec, voltage: float, kept: str = "") -> None:
        """Create the error.

        Args:
            spec: Servo that the log or the user names.
            voltage: Supply that the log states [V].
            kept: Name of the servo if it is possible all the same.
        """
        self.reason = doubtful_supply(spec, voltage)
        """The contradiction, without the remedy."""
        self.servos = (*(other.name for other in variants_on(spec, voltage)), *filter(None, (kept,)))
        """Names of the servos that it may be; those that fit the supply come first."""
        keep = f", or --servo {kept} if the log is right" if kept else ""
        super().__init__(f"{self.reason}; say which one it is: --servo {self.servos[0]}{keep}")


def doubtful_supply(spec: ServoSpec, voltage: float) -> str:
    """Return a phrase on a supply [V] that a servo does not run on and variants of it do; empty without such ones."""
    others = " or ".join(other.name for other in variants_on(spec, voltage))
    low, high = spec.supply_range
    return f"{voltage:g} V is outside the {low:g} to {high:g} V of {spec.name}, but fits {others}" if others else ""


def read_bam(content: bytes, file_name: str, said: str = "") -> Recording | RunList:
    """Read a log, or a list of logs.

    Args:
        content: Content of the file.
        file_name: Its name.
        said: Servo that the user names; it counts if it is a variant of the log's servo.

    Raises:
        NotARecordingError: for other JSON.
        UnclearServoError: for a servo that contradicts the supply.
        InputError: for an invalid log.
    """
    data = parse_json(content)
    if is_array(data) and data and all(isinstance(item, str) for item in data):
        return RunList(tuple(data))
    if not is_object(data) or not isinstance(data.get("entries"), list):
        raise NotARecordingError("not a recording: it has no list of entries")
    header = {key: value for key, value in data.items() if key not in ("entries", OWN_KEY)}
    own = data.get(OWN_KEY)
    own = storable(own, OWN_KEY) if is_object(own) else {}
    servo = known_servo(_required(header, "motor"), own)
    settings = _settings(header, servo)
    bench, unusual = _bench(header), list[str]()
    channels, duplicates = _channels(data["entries"], servo)
    # Our exporter names the servo that the run was imported or recorded with.
    if OWN_KEY not in data:
        servo = _variant(load_servo(servo), settings.supply_voltage, said)
        goals = channels["goal_position"][channels["torque_enable"] > 0]
        unusual = check_conditions(bench, settings, load_servo(servo), goals)
    provenance = {
        **own,
        "format": "bam",
        "source_file": name_of_file(file_name),
        "header": storable(header, "header"),
        "started": _started(header, file_name),
    }
    if duplicates:
        provenance["duplicate_rows_dropped"] = duplicates
    if unusual:
        provenance["left_out"] = "; ".join(unusual)
    if not provenance["started"]:
        provenance.pop("started")
    return Recording(
        id=name_of_file(file_name),
        trajectory=canonical_name(name(_required(header, "trajectory"), "trajectory")),
        bench=bench,
        settings=replace(settings, servo=servo),
        channels=channels,
        provenance=provenance,
    )


def known_servo(motor: Any, provenance: Mapping[str, Any]) -> str:
    """Return the catalogue's name of a servo given by name or alias.

    A servo file in the run's provenance makes its servo known.

    Raises:
        InputError: for an unknown servo.
    """
    adopt_servo(str(motor), provenance)
    try:
        return load_servo(motor).name
    except ModelError as error:
        name(motor, "motor")
        raise InputError(str(error)) from None


def _variant(named: ServoSpec, voltage: float, said: str) -> str:
    """Return the name of the servo of a log that names one and states its supply [V].

    said: Servo that the user names; it counts if it is the named one or a variant of it.
    """
    chosen = load_servo(said) if said else named
    if said and chosen.name == named.name:
        return named.name
    spec, kept = (chosen, "") if chosen.is_variant_of(named) else (named, named.name)
    if variants_on(spec, voltage):
        raise UnclearServoError(spec, voltage, kept)
    return spec.name


def name_of_file(file_name: str) -> str:
    """Return a file's name as a text that can be stored and displayed."""
    return file_name.encode("utf-8", "replace").decode()[-200:]


def _bench(header: Mapping[str, Any]) -> Bench:
    arm_mass = header.get("arm_mass", header.get("arm-mass", 0.0))
    measured = {
        ours: number(header[theirs], theirs, low=0.0)
        for ours, theirs in (("measured_inertia", "inertia_total"), ("measured_gravity_torque", "gravity_torque"))
        if header.get(theirs) is not None
    }
    return Bench(
        mass=number(_required(header, "mass"), "mass", low=0.0),
        length=number(_required(header, "length"), "length", low=0.0),
        arm_mass=number(0.0 if arm_mass is None else arm_mass, "arm_mass", low=0.0),
        gravity=number(header.get("gravity", STANDARD_GRAVITY), "gravity", low=0.0),
        angle_offset=number(header.get("angle_offset", 0.0), "angle_offset"),
        **measured,
    )


def _settings(header: Mapping[str, Any], servo: str) -> ServoSettings:
    damping, actuator, preset = (header.get(key) for key in ("damping", "driven_by", "stiffness_preset"))
    return ServoSettings(
        servo=servo,
        kp=number(_required(header, "kp"), "kp", low=0.0),
        ki=number(header.get("ki", 0.0), "ki", low=0.0),
        kd=number(header.get("kd", 0.0), "kd", low=0.0),
        supply_voltage=number(_required(header, "vin"), "vin", low=0.0),
        damping=None if damping is None else number(damping, "damping", low=0.0),
        actuator=None if actuator is None else name(actuator, "driven_by"),
        preset=None if preset is None else number(preset, "stiffness_preset"),
    )


def _required(header: Mapping[str, Any], key: str) -> Any:
    if header.get(key) is None:
        raise InputError(f"the log does not state its {key}")
    return header[key]


def _channels(entries: list[Any], servo: str) -> tuple[dict[str, NDArray[Any]], int]:
    """Return the columns of the entries, and the number of exact repetitions of a row that were dropped."""
    kept, duplicates = _without_repetitions(entries)
    channels: dict[str, NDArray[Any]] = {}
    for theirs, ours in REQUIRED_FIELDS.items():
        channels[ours] = np.array([_value(entry, theirs, index) for index, entry in kept])
    channels["torque_enable"] = np.array([_enable(entry, index) for index, entry in kept], np.uint8)
    for theirs, ours in OPTIONAL_FIELDS.items():
        if any(theirs in entry for _, entry in kept):
            channels[ours] = np.array(
                [np.nan if entry.get(theirs) is None else _value(entry, theirs, index) for index, entry in kept]
            )
    for count in COUNT_CHANNELS:
        if any(count in entry for _, entry in kept):
            channels[count] = np.array(
                [_whole(entry.get(count, 0), f"sample {index}: {count}", 0, 10**6) for index, entry in kept], np.uint32
            )
    if servo in PWM_STEPS and "duty_cycle" not in channels and any("load" in entry for _, entry in kept):
        channels["duty_cycle"] = np.array([_duty_cycle(entry, index, PWM_STEPS[servo]) for index, entry in kept])
    present = {
        name: channels[name] for name in CHANNEL_DTYPES if name in channels and not np.all(np.isnan(channels[name]))
    }
    return present, duplicates


def _without_repetitions(entries: list[Any]) -> tuple[list[tuple[int, Mapping[str, Any]]], int]:
    kept: list[tuple[int, Mapping[str, Any]]] = []
    for index, entry in enumerate(entries):
        if not is_object(entry):
            raise InputError(f"sample {index} is not an object")
        if kept:
            time, before = _value(entry, "timestamp", index), _value(kept[-1][1], "timestamp", index - 1)
            if entry == kept[-1][1]:
                continue
            if time <= before:
                raise InputError(f"sample {index}: time {time} s does not follow {before} s, times must increase")
        kept.append((index, entry))
    if len(kept) < 2:
        raise InputError(f"{counted(len(kept), 'sample')} only, at least 2 are needed")
    return kept, len(entries) - len(kept)


def _value(entry: Mapping[str, Any], field: str, index: int) -> float:
    if field not in entry:
        raise InputError(f"sample {index} has no {field}")
    return number(entry[field], f"sample {index}: {field}")


def _enable(entry: Mapping[str, Any], index: int) -> int:
    value = entry.get("torque_enable")
    if value is not True and value is not False and not (type(value) is int and value in (0, 1)):
        raise InputError(f"sample {index}: torque_enable must be true or false")
    return int(value)


def _whole(value: Any, what: str, low: int, high: int) -> int:
    if number(value, what, low, high) != int(value):
        raise InputError(f"{what} is not a whole number")
    return int(value)


def _duty_cycle(entry: Mapping[str, Any], index: int, steps: float) -> float:
    """Return the share of the supply voltage for a Present PWM in two's complement."""
    if entry.get("load") is None:
        return np.nan
    raw = _whole(entry["load"], f"sample {index}: load", -32768, 65535)
    return (raw - 65536 if raw > 32767 else raw) / steps


def _started(header: Mapping[str, Any], file_name: str) -> str:
    """Return the local start time without a zone, which logs do not contain; empty if unknown."""
    match = _FILE_DATE.search(str(header.get("recorded", ""))[:100]) or _FILE_DATE.search(file_name)
    return f"{match[1]}T{match[2]}:{match[3]}:{match[4]}" if match else ""
