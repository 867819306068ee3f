"""SCS series: the STS series with a potentiometer, big endian, without modes, group reads and broadcast pings."""

from __future__ import annotations

from typing import ClassVar

from drivers.emulators.feetech.sts_series import POSITION, PWM, StsDevice

HIGHEST = 1023
"""Position at the end of its potentiometer [counts]."""


class ScsDevice(StsDevice):
    """SCS0009 and its like."""

    output_limit: ClassVar = "max_torque"
    time_unit: ClassVar = 0.04

    @property
    def _mode(self) -> int:
        limits = self.registers["min_position_limit"], self.registers["max_position_limit"]
        return POSITION if any(limits) else PWM

    @property
    def position_counts(self) -> int:
        """Present position as in its register, which stays at the ends of the potentiometer."""
        counts = round(self.mechanism.position / self.position_step) + self.centre
        return min(max(counts, 0), HIGHEST)

    def _centre(self) -> None:
        """Do nothing: it has no homing offset."""
