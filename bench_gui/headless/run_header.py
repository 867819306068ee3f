"""What is known about a run before its first sample; the same whether the window or `bench record` makes it."""

from __future__ import annotations

from core.bench import Bench
from core.catalogue import servo_provenance
from core.recording import RunHeader, ServoSettings
from core.trajectories import Trajectory

DIRECTIONS = {1: "counter-clockwise", -1: "clockwise"}
"""Which way the pendulum turns, as the person at the bench sees it, when the servo's angle grows."""


def run_header(
    trajectory: Trajectory, bench: Bench, settings: ServoSettings, rate: float, address: str, direction: int = 1
) -> RunHeader:
    """Header of a run of a trajectory; address: of the servo, direction: one of DIRECTIONS."""
    return RunHeader(
        trajectory=trajectory.name,
        bench=bench,
        settings=settings,
        rate=rate,
        provenance={
            "servo_address": address,
            "positive_direction": DIRECTIONS[direction],
            "trajectory_parameters": trajectory.parameters.numbers(),
            "trajectory_duration": trajectory.duration,
            **servo_provenance(settings.servo),
        },
    )
