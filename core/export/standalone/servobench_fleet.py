# SPDX-License-Identifier: Apache-2.0
"""Specimens of an identified fleet of servos, for domain randomisation.

    fleet = read_fleet("mx106.fleet.json")
    servo = fleet.servo(fleet.pick(random))      # content of a servo file, for servobench_mujoco.attach and TorchServo
    native = fleet.native(fleet.pick(random))    # parameters of the engine's own joint and actuator

A fleet file holds one complete servo, and rows of the numbers that differ between specimens. A row is one specimen. Use
its numbers together: k_t, R and friction are correlated between real units. `draws` are drawn from the distribution
between units; `units` are the identified units themselves.

Needs numpy only. Copy this file next to the JSON files it reads.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

FORMAT, VERSION = "servobench-fleet", 1
BAM_NAMES = {
    "kt": "torque_constant",
    "resistance": "resistance",
    "max_pwm": "output_limit",
    "friction_base": "friction_base",
    "friction_stribeck": "friction_stribeck",
    "dtheta_stribeck": "stribeck_velocity",
    "alpha": "stribeck_exponent",
    "load_friction_motor": "load_motor",
    "load_friction_external": "load_external",
    "load_friction_motor_stribeck": "load_motor_stribeck",
    "load_friction_external_stribeck": "load_external_stribeck",
    "load_friction_motor_quad": "load_motor_quad",
    "load_friction_external_quad": "load_external_quad",
}
"""Parameters of a joint in a BAM drive, and their names in a servo file."""


class Fleet:
    """Content of a fleet file; see `read_fleet`."""

    def __init__(self, data: Mapping[str, Any], source: str = "fleet") -> None:
        if not isinstance(data, Mapping) or data.get("format") != FORMAT or data.get("version") != VERSION:
            raise ValueError(f"{source}: not a fleet file of version {VERSION}")
        try:
            self.title = str(data["title"])
            self.nominal = dict(data["servo"])
            """The complete servo from which specimens differ, as the content of a servo file."""
            self.names = tuple(map(str, data["names"]))
            """Names of the numbers that differ."""
            self.draws, self.units = (_table(data[rows], self.names) for rows in ("draws", "units"))
            """Shapes (draws, names) and (units, names), with units in the order of `unit_names`."""
            self.unit_names = tuple(map(str, data["unit_names"]))
            own = data["native"]
            self.native_names = tuple(map(str, own["names"]))
            """Parameters of the engine's own joint and actuator, fitted to each specimen."""
            self.native_draws, self.native_units = (_table(own[rows], self.native_names) for rows in ("draws", "units"))
            self.native_nominal = {name: float(own["nominal"][name]) for name in self.native_names}
            self.ranges = {
                name: (float(own["ranges"][name][0]), float(own["ranges"][name][1])) for name in own["names"]
            }
            """Range of each native parameter: the central 95 % of the fleet."""
        except (KeyError, TypeError, ValueError, OverflowError, IndexError, AttributeError) as error:
            raise ValueError(f"{source}: cannot be read as a fleet: {error!r}") from None
        lacking = [name for name in self.names if name not in self.nominal]
        if lacking:
            raise ValueError(f"{source}: its servo has no {', '.join(lacking)}")

    def pick(self, random: np.random.Generator) -> int:
        """Draw the row of a specimen; all are equally likely."""
        return int(random.integers(len(self.draws)))

    def servo(self, row: int) -> dict[str, Any]:
        """Return one complete specimen, as the content of a servo file."""
        return {**self.nominal, **dict(zip(self.names, self.draws[row].tolist(), strict=True))}

    def native(self, row: int) -> dict[str, float]:
        """Return one specimen's parameters of the engine's own joint and actuator; rows are not those of `servo`."""
        return dict(zip(self.native_names, self.native_draws[row].tolist(), strict=True))

    def factors(self, name: str) -> tuple[float, float]:
        """Return the range of a native parameter as factors of its nominal value."""
        low, high = self.ranges[name]
        middle = self.native_nominal[name]
        if not middle > 0.0:
            raise ValueError(f"{name} is 0 in the nominal servo and cannot be scaled")
        return low / middle, high / middle


def read_fleet(source: str | Path | Mapping[str, Any]) -> Fleet:
    """Read a fleet from its JSON file or that file's content; raise ValueError if it is invalid."""
    if isinstance(source, Mapping):
        return Fleet(source)
    try:
        data = json.loads(Path(source).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{source}: cannot be read as a fleet: {error}") from None
    return Fleet(data, str(source))


def bam_drive(servo: Mapping[str, Any]) -> dict[str, float]:
    """Convert a servo file's content to the joint parameters of Isaac Lab's BAM drive.

    Armature and viscous friction belong to the joint and are not included; nor is the delay, which all joints share.

    Raises:
        ValueError: The servo does not have the voltage law.
    """
    if servo["law"] != "voltage":
        raise ValueError(f"a BAM drive has the voltage law, not {servo['law']!r}")
    kt, resistance = servo["torque_constant"], servo["resistance"]
    return {
        **{theirs: servo[ours] for theirs, ours in BAM_NAMES.items()},
        "error_gain": servo["kp"] / servo["written_kp"],
        "sag_gain": servo["supply_sag"] / kt,
        "max_effort": servo["supply_voltage"] * kt / resistance,
    }


def _table(rows: Any, names: tuple[str, ...]) -> np.ndarray:
    table = np.array([[float(value) for value in row] for row in rows]).reshape(len(rows), len(names))
    if not len(table) or not all(math.isfinite(value) and value >= 0.0 for value in table.flat):
        raise ValueError("a specimen's numbers must be finite and at least 0")
    return table
