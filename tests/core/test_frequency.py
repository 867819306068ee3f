"""Spectra and responses: against closed forms, and which motions of the library have a response at all."""

import numpy as np
import pytest
from scipy import signal

from core.motion.frequency import amplitude_density, driven_stretch, excited, frequency_response
from core.motion.trajectories import make_trajectory, trajectory_names

STEP = 0.005
NATURAL, DAMPING = 2.0 * np.pi * 3.0, 0.3


def goal_of(name):
    trajectory = make_trajectory(name)
    time = np.arange(round(trajectory.duration / STEP)) * STEP
    return trajectory.goal(time)[driven_stretch(trajectory.torque_enable(time))]


def second_order(goal, delay=0):
    b, a = signal.bilinear([NATURAL**2], [1.0, 2.0 * DAMPING * NATURAL, NATURAL**2], 1.0 / STEP)
    moved = signal.lfilter(b, a, goal)
    return np.concatenate((np.zeros(delay), moved))[: len(goal)], (b, a)


def test_sweeps_excite_a_band_and_other_motions_do_not():
    with_band = set()
    for name in trajectory_names():
        goal = goal_of(name)
        low, high = excited(goal, STEP) if len(goal) else (0, 0)
        if high > low:
            with_band.add(name)
    assert with_band == {"chirp", "sin_time_square"}
    frequency = frequency_response(goal_of("chirp"), goal_of("chirp"), STEP).frequency
    assert frequency[0] < 0.3
    assert frequency[-1] == pytest.approx(4.0, abs=0.4)
    assert frequency_response(goal_of("up_and_down"), goal_of("up_and_down"), STEP) is None


def test_a_linear_servo_has_its_own_response():
    goal = goal_of("chirp")
    position, system = second_order(goal)
    found = frequency_response(goal, position, STEP)
    _, truth = signal.freqz(*system, worN=2.0 * np.pi * found.frequency * STEP)
    inner = found.frequency < 2.5
    np.testing.assert_allclose(found.magnitude[inner], 20.0 * np.log10(np.abs(truth[inner])), atol=0.6)
    np.testing.assert_allclose(found.phase[inner], np.degrees(np.angle(truth[inner])), atol=2.0)
    late = frequency_response(goal, second_order(goal, delay=10)[0], STEP)
    lag = found.phase - late.phase
    np.testing.assert_allclose(lag[inner], 360.0 * found.frequency[inner] * 10 * STEP, atol=4.0)


def test_motion_at_random_has_no_response():
    goal = goal_of("chirp")
    noise = np.random.default_rng(1).normal(size=len(goal))
    found = frequency_response(goal, noise, STEP)
    assert np.isnan(found.magnitude).mean() > 0.6
    np.testing.assert_array_equal(np.isnan(found.magnitude), np.isnan(found.phase))


def test_the_density_of_white_noise_is_flat_and_as_high_as_its_power():
    generator = np.random.default_rng(2)
    runs = [generator.normal(scale=0.01, size=4000) for _ in range(12)]
    frequency, density = amplitude_density(runs, [STEP] * 12)
    assert frequency[-1] == pytest.approx(0.5 / STEP)
    assert frequency[0] == pytest.approx(1.0 / (2000 * STEP))  # segments of half a run; the mean is left out
    assert len(frequency) == len(density) == 1000
    assert np.sqrt(np.mean(density**2)) == pytest.approx(0.01 * np.sqrt(2.0 * STEP), rel=0.05)
    fine, _ = amplitude_density([runs[0], runs[1]], [STEP, 2.0 * STEP])
    assert fine[-1] <= 0.25 / STEP


def test_the_longest_driven_stretch():
    assert driven_stretch(np.array([0, 1, 1, 0, 1, 1, 1, 0])) == slice(4, 7)
    assert driven_stretch(np.zeros(4)) == slice(0, 0)
    assert driven_stretch(np.ones(4)) == slice(0, 4)
