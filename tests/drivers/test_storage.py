"""A sink that cannot close its file: what is lost, counted from the first sample that could be kept."""

from dataclasses import replace

import numpy as np
import pytest

from core.motion.recording import SAMPLE_DTYPE, RunHeader
from core.servo.bench import Bench
from core.servo.settings import ServoSettings
from drivers.recorder import MemorySink
from drivers.recorder.run import RunResult
from drivers.recorder.storage import TOO_SHORT, Immediately, Sealed, Storage

HEADER = RunHeader(
    trajectory="test",
    bench=Bench(mass=0.5, length=0.15),
    settings=ServoSettings(servo="mx106", kp=16.0, supply_voltage=12.0),
    rate=100.0,
)


class Unclosable(MemorySink):
    """Takes every sample and fails when it is closed."""

    def finish(self, exit_status: str, reason: str = "") -> str:
        raise OSError("disk full")


@pytest.mark.parametrize(("samples", "kept"), [(0, False), (1, False), (2, True), (3, True)])
def test_a_run_is_lost_from_its_second_sample_on(samples, kept):
    storage = Storage(Unclosable(), HEADER, Immediately())
    for _ in range(samples):
        storage.put(np.zeros((), SAMPLE_DTYPE).item())
    lost = "closing the run's file failed: OSError: disk full"
    assert storage.finish("success", "").result() == Sealed("", lost if kept else TOO_SHORT)


def test_a_run_so_slow_that_a_block_has_one_sample_keeps_each_of_them():
    sink = MemorySink()
    storage = Storage(sink, replace(HEADER, rate=2.0), Immediately())
    assert storage.opened()
    for number in range(1, 4):
        storage.put(np.full((), number, SAMPLE_DTYPE).item())
        assert sink.rows["time"].tolist() == list(range(1, number + 1))
    assert storage.finish("success", "").result() == Sealed("", "")
    assert len(sink.rows) == storage.samples == 3


def test_a_rate_that_is_not_reached_is_said():
    whole = RunResult(run=1, exit_status="success", samples=361, skipped_cycles=39, rate=200.0)
    assert not whole.shortfall
    assert replace(whole, samples=72, skipped_cycles=328).shortfall.startswith("asked for 200 Hz, got 36;")
    assert not RunResult(run=1, exit_status="fail").shortfall
