"""A trimmed run is the same run, begun later: what it holds and what a simulation makes of it."""

from dataclasses import replace

import numpy as np
import pytest

from core.base.errors import InputError
from core.identification.evaluate import evaluate
from core.motion.recording import FIT_CHANNELS, RECORDED_CHANNELS
from core.motion.simulation import initial_velocity, simulate_recording, simulate_trajectory
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from core.servo.settings import ServoSettings
from tests.core.conftest import catalogue_model, commands

BENCH = Bench(mass=0.5, length=0.15)
STEP = 0.005


@pytest.fixture
def model():
    # The commands of this model take effect at once, so that position and velocity are all of its state.
    return catalogue_model("mx106", "m4", integrator="algorithm1")


@pytest.fixture
def run(model):
    """A simulated run whose clock does not begin at 0."""
    settings = model.default_settings()
    motion = simulate_trajectory(model, make_trajectory("sin_time_square", 3.0), BENCH, settings, STEP)
    recording = commands(model, motion.goal_position, step=STEP, bench=BENCH, position=motion.position)
    channels = {**recording.channels, "time": motion.time + 7.0, "velocity": motion.velocity}
    return replace(recording, channels=channels, provenance={"operator": "Ada"})


@pytest.fixture
def full(run):
    """The run with every channel, all unlike, commanded late by up to two samples."""
    random = np.random.default_rng(3)
    channels = {c.name: random.uniform(0.5, 1.0, run.samples) for c in RECORDED_CHANNELS}
    channels |= {
        name: np.arange(run.samples, dtype=np.uint32) % k for k, name in ((3, "skipped_cycles"), (4, "bus_errors"))
    }
    channels |= {"command_time": run.time + random.uniform(0.0, 2.0 * STEP, run.samples)}
    channels |= {"supply_voltage": random.uniform(8.0, 12.0, run.samples), **run.channels}
    return replace(run, channels=channels)


def without_velocity(recording):
    return replace(recording, channels={k: v for k, v in recording.channels.items() if k != "velocity"})


def test_a_trim_keeps_the_samples_within_and_their_times(run):
    trimmed = run.trimmed(0.5, 2.0)
    assert trimmed.samples == 301
    assert trimmed.time[0] == run.time[100]
    for name, values in trimmed.channels.items():
        assert values.tobytes() == run.channels[name][100:401].tobytes(), name
    assert trimmed.provenance == {"operator": "Ada", "trims": [{"begin": 0.5, "end": 2.0}]}
    assert run.provenance == {"operator": "Ada"}
    again = trimmed.trimmed(end=1.0)
    assert again.provenance["trims"] == [{"begin": 0.5, "end": 2.0}, {"begin": None, "end": 1.0}]
    assert len(trimmed.provenance["trims"]) == 1


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"position": None}, "channel position is missing"),
        ({"velocity": [0.0] * 3}, r"channel velocity has shape \(3,\), not \(4,\)"),
        ({"goal_position": [0.0, np.nan, 0.0, 0.0]}, "goal_position contains values that are not finite"),
        ({"torque_enable": [1.0, 1.0, 1.0, np.inf]}, "torque_enable contains values that are not finite"),
        ({"time": [0.0, 0.1, 0.1, 0.2]}, "times do not increase strictly"),
    ],
)
def test_what_no_recording_can_be(run, changed, said):
    four = {name: values[:4] for name, values in run.channels.items()} | {
        name: np.array(values) for name, values in changed.items() if values is not None
    }
    kept = {name: values for name, values in four.items() if changed.get(name, ()) is not None}
    with pytest.raises(InputError, match=f"recording commands: .*{said}"):
        replace(run, channels=kept)


def test_a_single_sample_is_no_recording(run):
    with pytest.raises(InputError, match="1 sample only, at least 2 are needed"):
        replace(run, channels={name: values[:1] for name, values in run.channels.items()})
    assert replace(run, channels={name: values[:2] for name, values in run.channels.items()}).samples == 2


def test_a_recording_names_its_conditions_and_itself(run):
    settings = ServoSettings(servo="mx106", kp=8.0, ki=1.0, kd=2.0, supply_voltage=14.5)
    bench = Bench(mass=0.5, length=0.15, arm_mass=0.04)
    named = replace(run, trajectory="sin_sin", bench=bench, settings=settings)
    known = {
        "trajectory": "sin_sin",
        "mass": 0.5,
        "length": 0.15,
        "arm_mass": 0.04,
        "kp": 8.0,
        "ki": 1.0,
        "kd": 2.0,
        "supply_voltage": 14.5,
        "servo": "mx106",
    }
    assert named.conditions() == known
    of_actuator = replace(named, settings=replace(settings, actuator="sea", preset=0.0))
    assert of_actuator.conditions() == {**known, "actuator": "sea", "preset": 0.0}
    assert named.heading() == "commands, mx106, 0.5 kg at 0.15 m, kp 8, 600 samples, 3.0 s"


def test_a_resampled_run_keeps_what_describes_it(run):
    other = run.resampled(0.01)
    assert other.provenance == run.provenance == {"operator": "Ada"}
    assert (other.id, other.trajectory, other.bench, other.settings) == (
        run.id,
        run.trajectory,
        run.bench,
        run.settings,
    )
    for step in (0.0, -0.01, float("nan")):
        with pytest.raises(InputError, match="cannot resample"):
            run.resampled(step)


def test_none_keeps_a_side(run):
    assert run.trimmed() is run
    assert np.array_equal(run.trimmed(begin=1.0).time, run.time[200:])
    assert np.array_equal(run.trimmed(end=1.0).time, run.time[:201])
    assert np.array_equal(run.trimmed(0.0, run.duration).time, run.time)
    assert np.array_equal(run.trimmed(1.0, None).trimmed(0.5, 1.0).time, run.trimmed(1.5, 2.0).time)


@pytest.mark.parametrize("k", range(0, 599, 37))
def test_a_samples_own_time_is_within(run, k):
    """However the time was rounded on its way through a text."""
    since = float(f"{run.time[k] - run.time[0]:.12g}")
    assert run.trimmed(begin=since).time[0] == run.time[k]
    if k:
        assert run.trimmed(end=since).time[-1] == run.time[k]


@pytest.mark.parametrize(
    ("begin", "end", "word"),
    [
        (-0.1, None, "begin at -0.1 s"),
        (3.1, None, "begin at 3.1 s"),
        (0.0, 3.1, "end at 3.1 s"),
        (float("nan"), None, "begin at nan s"),
        (None, float("inf"), "end at inf s"),
        (1.001, 1.004, "leaves 0 of 600"),
        (1.0, 1.004, "leaves 1 of 600"),
        (2.0, 1.0, "leaves 0 of 600"),
    ],
)
def test_a_trim_that_cannot_be_names_run_time_and_length(run, begin, end, word):
    with pytest.raises(InputError, match=r"recording commands, which lasts 2\.995 s") as caught:
        run.trimmed(begin, end)
    assert word in str(caught.value)


@pytest.mark.parametrize("begin", [0.4, 1.235, 2.5])
def test_a_trimmed_run_is_simulated_from_its_first_sample_in_motion(model, run, begin):
    trimmed = run.trimmed(begin, 2.9)
    assert abs(initial_velocity(trimmed)) > 0.1
    motion = simulate_recording(model, trimmed)
    assert np.array_equal(motion.time, trimmed.time)
    assert np.abs(motion.position - trimmed.position).max() < 1e-12
    assert evaluate(model, [trimmed]).mean_mae < 1e-12


def test_a_velocity_the_servo_did_not_report_is_measured_from_the_positions(model, run):
    bare = without_velocity(run)
    k = 250
    expected = (run.position[k + 1] - run.position[k - 1]) / (2 * STEP)
    trimmed = bare.trimmed(begin=k * STEP)
    assert trimmed.channels["velocity"][0] == pytest.approx(expected, rel=1e-9)
    assert np.all(np.isnan(trimmed.channels["velocity"][1:]))
    assert initial_velocity(trimmed) == pytest.approx(run.channels["velocity"][k], abs=0.05)
    started_at_rest = simulate_recording(model, without_velocity(trimmed))
    measured = simulate_recording(model, trimmed)
    first = slice(0, 20)
    assert np.abs(measured.position - trimmed.position)[first].max() < (
        0.2 * np.abs(started_at_rest.position - trimmed.position)[first].max()
    )
    # A gap at the first sample is filled just the same, reported values are left alone.
    gap = run.channels["velocity"].copy()
    gap[k] = np.nan
    filled = replace(run, channels={**run.channels, "velocity": gap}).trimmed(begin=k * STEP).channels["velocity"]
    assert filled[0] == pytest.approx(expected, rel=1e-9)
    assert np.array_equal(filled[1:], run.channels["velocity"][k + 1 :])
    assert "velocity" not in bare.trimmed(end=1.0).channels


def test_a_command_without_a_known_time_came_with_its_sample(full):
    """On the grid its goal takes effect at the sample's time, the goals of the others at theirs."""
    unknown = np.isin(np.arange(full.samples), (0, 5, 300))
    gaps = np.where(unknown, np.nan, full.channels["command_time"])
    some = replace(full, channels={**full.channels, "command_time": gaps})
    none = replace(full, channels={k: v for k, v in full.channels.items() if k != "command_time"})
    assert np.array_equal(some.command_time, np.where(unknown, full.time, full.channels["command_time"]))
    assert np.array_equal(none.command_time, full.time)
    never = replace(full, channels={**full.channels, "command_time": np.full(full.samples, np.nan)})
    assert np.array_equal(never.resampled(STEP).goal_position, none.resampled(STEP).goal_position)
    assert not np.array_equal(full.resampled(STEP).goal_position, none.resampled(STEP).goal_position)


def test_a_fit_reads_its_channels_and_no_others(model, full):
    """With them alone everything is as with all channels, and the hash is that of what a fit reads."""
    enough = replace(full, channels={name: full.channels[name] for name in FIT_CHANNELS if name in full.channels})
    assert enough.content_sha256 == full.content_sha256
    assert simulate_recording(model, enough).position.tobytes() == simulate_recording(model, full).position.tobytes()
    assert evaluate(model, [enough]) == evaluate(model, [full])
    motion = simulate_recording(model, full).position
    for channel in RECORDED_CHANNELS:
        values = full.channels[channel.name]
        other = 1 - values if channel.name == "torque_enable" else values * 1.001
        changed = replace(full, channels={**full.channels, channel.name: other})
        read = channel.name in FIT_CHANNELS
        assert (changed.content_sha256 != full.content_sha256) is read, channel.name
        if not read:
            assert simulate_recording(model, changed).position.tobytes() == motion.tobytes(), channel.name
    for name in ("command_time", "supply_voltage"):
        lacking = replace(full, channels={k: v for k, v in full.channels.items() if k != name})
        assert simulate_recording(model, lacking).position.tobytes() != motion.tobytes(), name
