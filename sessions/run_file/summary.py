"""Summary of a run for a session's list: everything to filter and sort by, without any samples."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import h5py

from core.motion.recording import JOINT
from sessions.errors import UnreadableError
from sessions.run_file.schema import number_attribute, read_facts, text_attribute
from sessions.servo_kind import SIMULATED, kind_of, origin_of


@dataclass(frozen=True, kw_only=True, slots=True)
class RunSummary:
    """Conditions and facts of a run; SI units."""

    id: str
    trajectory: str
    duration: float
    """First to last sample [s]."""
    samples: int
    mass: float
    """[kg]"""
    length: float
    """[m]"""
    arm_mass: float
    """[kg]"""
    kp: float
    ki: float
    kd: float
    supply_voltage: float
    """Nominal [V]."""
    servo: str
    exit_status: str
    """"success", "abort", "fail" or "crashed"."""
    reason: str
    started: str
    """ISO 8601; empty if unknown."""
    finished: str
    rate: float
    """Nominal sampling rate [Hz]; 0 if unknown."""
    uid: str
    source: str
    """Name of the imported file; empty for runs recorded here."""
    file: str
    """Path of the run inside the session."""
    sha256: str
    """Hash of the channels alone."""
    content_sha256: str
    """Hash of channels, bench, settings and trajectory: equal for equal evidence."""
    kind: str = ""
    """Kind of servo, see `sessions.servo_kind.kind_of`."""
    joint: str = ""
    """Joint of a robot that moved; empty for a pendulum."""

    @property
    def simulated(self) -> bool:
        """True for a run of a simulated servo."""
        return origin_of(self.kind) == SIMULATED

    def conditions(self) -> dict[str, str | float]:
        """Return the conditions as `Recording.conditions` does, except an actuator other than the servo's own."""
        names = ("trajectory", "mass", "length", "arm_mass", "kp", "ki", "kd", "supply_voltage", "servo")
        return {name: getattr(self, name) for name in names}

    def to_json(self) -> dict[str, Any]:
        """Return plain data; `vin` repeats the supply voltage under the name used in logs."""
        return {**asdict(self), "simulated": self.simulated, "vin": self.supply_voltage}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunSummary:
        """Return a summary; the inverse of `to_json`.

        Raises:
            ValueError: for missing names and wrong types.
        """
        values: dict[str, Any] = {name: data.get(name) for name in _KINDS}
        for name, kind in _KINDS.items():
            value = values[name]
            if type(value) is not kind and not (kind is float and type(value) is int):
                raise ValueError(f"run summary: {name} = {value!r} is not possible")
        for name in _REPEATED:
            values[name] = sys.intern(values[name])
        return cls(**values)


_REPEATED = ("trajectory", "servo", "kind", "joint", "exit_status", "reason", "source")
"""Texts that thousands of runs share."""
_KINDS = {field.name: {"str": str, "float": float, "int": int}[str(field.type)] for field in fields(RunSummary)}


def read_summary(group: h5py.Group, file: str) -> RunSummary:
    """Read a run's summary from its attributes.

    Raises:
        UnreadableError: if the group is damaged.
        InputError: for values that a run cannot have.
    """
    facts = read_facts(group)
    source = facts.provenance.get("source_file", "")
    try:
        return RunSummary.from_json(
            {
                "id": facts.id,
                "trajectory": facts.trajectory,
                "duration": number_attribute(group, "duration"),
                "samples": int(number_attribute(group, "samples")),
                **{name: float(getattr(facts.bench, name)) for name in ("mass", "length", "arm_mass")},
                **{name: float(getattr(facts.settings, name)) for name in ("kp", "ki", "kd", "supply_voltage")},
                "servo": facts.settings.servo,
                "exit_status": facts.exit_status,
                "reason": facts.reason,
                "started": facts.started,
                "finished": facts.finished,
                "rate": facts.rate,
                "uid": facts.uid,
                "source": source if isinstance(source, str) else "",
                "file": file,
                "sha256": text_attribute(group, "sha256"),
                "content_sha256": text_attribute(group, "content_sha256"),
                "kind": kind_of(facts.settings, facts.provenance),
                "joint": str(facts.provenance.get(JOINT, "")),
            }
        )
    except ValueError as error:
        raise UnreadableError(str(error)) from None
