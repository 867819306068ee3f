"""Runs to store and places to store them."""

import json
import sys

import numpy as np
import pytest

from core.motion.recording import SAMPLE_DTYPE, Recording, RunHeader
from core.servo.bench import Bench
from core.servo.settings import ServoSettings
from sessions import Session
from sessions.run_file import sandbox
from tests.forked_trial import tried

BENCH = Bench(mass=0.49, length=0.1, arm_mass=0.05, angle_offset=0.01)
SETTINGS = ServoSettings(servo="xl330", kp=400, supply_voltage=7.4)


@pytest.fixture(autouse=True)
def trials(monkeypatch):
    """Trials of files are forked; how the product starts them is the matter of test_sandbox."""
    if sys.platform == "linux":
        monkeypatch.setattr(sandbox, "_started", lambda path, limit: tried(path))


@pytest.fixture
def session(tmp_path):
    return Session.create(tmp_path / "session", title="bench 7")


@pytest.fixture
def header():
    return RunHeader(trajectory="sin_sin", bench=BENCH, settings=SETTINGS, rate=200.0, provenance={"operator": "Ada"})


@pytest.fixture
def rows():
    """Samples first … first + count − 1 of a known sequence, without current and temperature."""

    def make(count, first=0):
        index = np.arange(first, first + count)
        table = np.zeros(count, SAMPLE_DTYPE)
        for name in ("current", "duty_cycle", "temperature", "read_duration", "command_time"):
            table[name] = np.nan
        table["time"] = index * 0.005
        table["goal_position"] = np.sin(index * 0.1)
        table["position"] = np.cos(index * 0.1)
        table["velocity"] = index * 1e-3
        table["supply_voltage"] = 7.4 - index * 1e-6
        table["torque_enable"] = index % 7 > 0
        return table

    return make


@pytest.fixture
def recording():
    """A run of the given length; `seed` changes its samples, other keywords replace its fields."""

    def make(samples=50, seed=0, **fields):
        random = np.random.default_rng(seed)
        channels = {
            "time": np.cumsum(random.uniform(0.001, 0.009, samples)),
            "goal_position": random.normal(size=samples),
            "torque_enable": random.integers(0, 2, samples).astype(np.uint8),
            "position": random.normal(size=samples),
            "velocity": np.where(random.uniform(size=samples) < 0.2, np.nan, random.normal(size=samples)),
            "duty_cycle": random.integers(-885, 886, samples) / 885.0,
            "skipped_cycles": random.integers(0, 3, samples).astype(np.uint32),
        }
        facts = {
            "id": "x",
            "trajectory": "sin_sin",
            "bench": BENCH,
            "settings": SETTINGS,
            "channels": channels,
            "provenance": {"operator": "Ada"},
        }
        return Recording(**{**facts, **fields})

    return make


@pytest.fixture(scope="session")
def same():
    """Asserts that two recordings are the same evidence, to the last bit."""

    def check(left, right):
        assert left.trajectory == right.trajectory
        assert left.bench == right.bench
        assert left.settings == right.settings
        assert list(left.channels) == list(right.channels)
        for name in left.channels:
            assert left.channels[name].dtype == right.channels[name].dtype, name
            assert left.channels[name].tobytes() == right.channels[name].tobytes(), name

    return check


@pytest.fixture
def log():
    """A BAM log as plain data; keywords change its header, None removes a field."""

    def make(samples=5, **header):
        entries = [
            {
                "timestamp": 0.005 * i,
                "position": 0.1 * i,
                "goal_position": 0.2 * i,
                "torque_enable": True,
                "speed": 1.0,
                "load": 65535 - i,
                "input_volts": 7.4,
                "temp": 30,
            }
            for i in range(samples)
        ]
        facts = {"mass": 0.49, "length": 0.1, "kp": 400, "vin": 7.4, "motor": "XL330", "trajectory": "sin_sin"}
        data = {**facts, **header, "entries": entries}
        return {key: value for key, value in data.items() if value is not None}

    return make


@pytest.fixture
def write_log(tmp_path, log):
    """Writes a BAM log, or any other data, as JSON and returns its path."""

    def write(name="log.json", data=None, **header):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(log(**header) if data is None else data))
        return path

    return write
