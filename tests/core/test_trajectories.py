"""Trajectories: the four of section V-A by the formulas of the published recordings, the others by their own."""

import math

import numpy as np
import pytest

from core.base.errors import InputError
from core.motion.trajectories import (
    ALIASES,
    PAPER_TRAJECTORIES,
    canonical_name,
    make_trajectory,
    recorded_trajectory,
    title_of,
    trajectory_names,
)

T = np.linspace(0.0, 5.999, 2000)


def cubic(x):
    """Cubic from 0 to 1 with zero slope at both ends."""
    return 3 * x**2 - 2 * x**3


def test_accelerated_oscillations():
    np.testing.assert_allclose(make_trajectory("sin_time_square").goal(T), np.sin(T**2), atol=1e-15)


def test_slow_oscillations_with_smaller_sub_oscillations():
    expected = np.sin(T) * math.pi / 2 + 0.5 * np.sin(5 * T) * np.sin(2 * T)

    np.testing.assert_allclose(make_trajectory("sin_sin").goal(T), expected, atol=1e-15)


def test_raising_and_lowering():
    """0 → π/2 at 3 s → 0.8·π/2 at 6 s with zero end slopes."""
    up = math.pi / 2 * cubic(np.minimum(T / 3, 1))
    expected = up - 0.2 * math.pi / 2 * cubic(np.clip((T - 3) / 3, 0, 1))

    np.testing.assert_allclose(make_trajectory("up_and_down").goal(T), expected, atol=1e-15)


def test_lift_and_drop():
    """0 → −π/2 at 2 s, torque enabled while t < 2 s, the goal held after."""
    trajectory = make_trajectory("lift_and_drop")

    np.testing.assert_allclose(trajectory.goal(T), -math.pi / 2 * cubic(np.minimum(T / 2, 1)), atol=1e-15)
    np.testing.assert_array_equal(trajectory.torque_enable(T), T < 2.0)
    assert not trajectory.torque_enable([2.0])[0]


def test_the_papers_four_last_six_seconds():
    assert PAPER_TRAJECTORIES == ("sin_time_square", "sin_sin", "up_and_down", "lift_and_drop")
    assert all(make_trajectory(name).duration == 6.0 for name in PAPER_TRAJECTORIES)


def test_half_sines_steps_nothing_and_chirp():
    np.testing.assert_allclose(
        make_trajectory("half_sine").goal(T), math.pi / 2 * np.abs(np.sin(math.pi * T / 3)), atol=1e-15
    )
    steps = make_trajectory("steps", amplitude=0.4, hold_time=0.5)
    assert steps.goal([0.0, 0.49, 0.5, 0.99, 1.0, 1.5]).tolist() == [0.0, 0.0, 0.4, 0.4, 0.0, 0.4]
    nothing = make_trajectory("nothing")
    assert not nothing.goal(T).any()
    assert not nothing.torque_enable(T).any()
    chirp = make_trajectory("chirp", amplitude=0.2, start_frequency=1.0, end_frequency=3.0, sweep_time=4.0)
    phase = 2 * math.pi * (T + 0.25 * T**2)
    np.testing.assert_allclose(chirp.goal(T), 0.2 * np.sin(phase), atol=1e-12)


@pytest.mark.parametrize("name", trajectory_names())
def test_goals_hold_outside_the_trajectory(name):
    trajectory = make_trajectory(name, 3.0)

    assert trajectory.goal([-1.0])[0] == trajectory.goal([0.0])[0]
    assert trajectory.goal([99.0])[0] == trajectory.goal([3.0])[0]


def test_preview_velocity():
    """The fastest moment of a cubic rise by A in T is 1.5·A/T."""
    assert make_trajectory("lift_and_drop").preview().peak_velocity == pytest.approx(1.5 * math.pi / 4, rel=1e-3)


def test_aliases():
    for alias, name in ALIASES.items():
        assert make_trajectory(alias) is not None
        assert make_trajectory(alias).name == canonical_name(alias) == name
    assert canonical_name("a_persons_own") == "a_persons_own"


def test_parameters_and_limits():
    trajectory = make_trajectory("sin_time_square", 2.0, amplitude=-0.5, acceleration=2.0)

    np.testing.assert_allclose(trajectory.goal([1.0]), -0.5 * np.sin(2.0))
    assert trajectory.duration == 2.0
    for wrong in ({"amplitude": 4.0}, {"acceleration": -1.0}, {"amplitude": math.pi + 1e-6}):
        with pytest.raises(InputError, match="outside"):
            make_trajectory("sin_time_square", **wrong)
    with pytest.raises(InputError, match="no parameter named"):
        make_trajectory("sin_sin", speed=1.0)
    with pytest.raises(InputError, match="hold_time"):
        make_trajectory("steps", hold_time=0.0)
    for duration in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(InputError, match="duration"):
            make_trajectory("sin_sin", duration)
    with pytest.raises(InputError, match="sin_time_square"):
        make_trajectory("wiggle")


@pytest.mark.parametrize(
    ("name", "title", "duration", "expected"),
    [
        (
            "sin_time_square",
            "Accelerated oscillations",
            6.0,
            {"amplitude": ("rad", 1.0, math.pi), "acceleration": ("rad/s²", 1.0, 20.0)},
        ),
        (
            "sin_sin",
            "Slow with sub-oscillations",
            6.0,
            {
                "slow_amplitude": ("rad", math.pi / 2, math.pi),
                "slow_frequency": ("rad/s", 1.0, 50.0),
                "fast_amplitude": ("rad", 0.5, math.pi),
                "fast_frequency": ("rad/s", 5.0, 50.0),
                "beat_frequency": ("rad/s", 2.0, 50.0),
            },
        ),
        (
            "up_and_down",
            "Raise and lower slowly",
            6.0,
            {
                "top": ("rad", math.pi / 2, math.pi),
                "end": ("rad", 0.4 * math.pi, math.pi),
                "raise_time": ("s", 3.0, 60.0),
                "lower_time": ("s", 3.0, 60.0),
            },
        ),
        (
            "lift_and_drop",
            "Lift and drop",
            6.0,
            {"top": ("rad", -math.pi / 2, math.pi), "lift_time": ("s", 2.0, 60.0)},
        ),
        ("half_sine", "Half sines", 6.0, {"amplitude": ("rad", math.pi / 2, math.pi), "period": ("s", 3.0, 60.0)}),
        ("steps", "Steps", 6.0, {"amplitude": ("rad", 0.6, math.pi), "hold_time": ("s", 1.0, 60.0)}),
        ("nothing", "Nothing (released)", 6.0, {}),
        (
            "chirp",
            "Chirp",
            10.0,
            {
                "amplitude": ("rad", 0.3, math.pi),
                "start_frequency": ("Hz", 0.1, 50.0),
                "end_frequency": ("Hz", 4.0, 50.0),
                "sweep_time": ("s", 10.0, 600.0),
            },
        ),
    ],
)
def test_every_trajectory_begins_with_its_usual_values_and_has_their_limits(name, title, duration, expected):
    """Angles may be negative, all else may not."""
    made = make_trajectory(name)
    assert (title_of(name), made.title, made.duration) == (title, title, duration)
    assert {p.name: (p.unit, p.value, p.upper) for p in made.parameters.values()} == expected
    assert all(p.lower == (-p.upper if p.unit == "rad" else 0.0) for p in made.parameters.values())


def test_an_unknown_trajectory_has_its_name_as_title():
    assert title_of("a_persons_own") == "a_persons_own"
    assert title_of("slow_oscillations") == "Slow with sub-oscillations"


def test_replaying_a_recording_holds_its_commands():
    replay = recorded_trajectory("mine", [5.0, 5.1, 5.4], [0.0, 1.0, -1.0], [1, 1, 0])

    assert replay.duration == pytest.approx(0.4)
    assert replay.goal([0.0, 0.05, 0.1, 0.39, 0.4]).tolist() == [0.0, 0.0, 1.0, 1.0, -1.0]
    assert replay.torque_enable([0.0, 0.39, 0.4]).tolist() == [True, True, False]
    assert replay.name == "mine"
