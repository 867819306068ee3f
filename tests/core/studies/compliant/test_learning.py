"""Iterative learning control: its law, what it learns on the seed's arm, and what it says when it does not."""

import csv
import math
import re
from dataclasses import replace

import numpy as np
import pytest

from core.base.errors import InputError
from core.studies.compliant.arm import CompliantArm
from core.studies.compliant.learning import (
    CSV_COLUMNS,
    LearningLaw,
    Reference,
    chirp,
    held_step,
    in_words,
    learn,
    minimum_jerk,
    read_reference,
    sinusoid,
    warning_of,
    write_input,
)

REFERENCE = minimum_jerk((0.8, 0.8), 20.0)


@pytest.fixture(scope="module")
def learned():
    """The seed's case: 0 → (0.8, 0.8) rad in 20 s, presets 0.2 rad, its springs, under gravity."""
    return learn(CompliantArm(), REFERENCE)


# References.


def test_a_minimum_jerk_motion_starts_and_ends_at_rest():
    """10·s³ − 15·s⁴ + 6·s⁵: half way at half time, fastest there with 15/8 of the mean speed."""
    motion = minimum_jerk((0.8, -0.4), 20.0, hold=1.0)
    middle, end = round(10.0 / motion.step), round(20.0 / motion.step)
    speed = np.gradient(motion.angles[:, 0], motion.step)

    assert motion.duration == pytest.approx(21.0)
    np.testing.assert_allclose(motion.angles[[0, middle, end, -1]], np.outer([0, 0.5, 1, 1], [0.8, -0.4]), atol=1e-12)
    assert speed.max() == pytest.approx(15.0 / 8.0 * 0.8 / 20.0, rel=1e-4)
    assert abs(speed[0]) < 1e-6
    assert abs(np.gradient(speed, motion.step)[1]) < 1e-3


def test_a_chirp_passes_the_mean_frequency_at_half_time():
    """Its phase grows by 2π·(f₀ + f₁)/2·T in all."""
    motion = chirp((0.15,), 0.5, 6.0, 40.0, 1e-3)
    rising = np.sum((motion.angles[:-1, 0] < 0.0) & (motion.angles[1:, 0] >= 0.0))

    assert np.max(motion.angles) == pytest.approx(0.15, abs=1e-4)
    assert abs(rising - 40.0 * 3.25) <= 1


def test_sinusoids_and_steps_are_those_of_the_seed():
    """Eq. (12)."""
    wave = sinusoid((0.8,), 0.8, 10.0)

    np.testing.assert_allclose(wave.angles[:, 0], 0.8 * np.sin(0.8 * wave.time))
    np.testing.assert_array_equal(held_step((0.8,), 0.02).angles[:, 0], [0.0, 0.8, 0.8, 0.8, 0.8])


def test_references_come_from_files(tmp_path):
    file = tmp_path / "motion.csv"
    file.write_text("time,q1,q2\n0,0,0\n0.01,0.1,0.2\n0.02,0.2,0.4\n")
    read = read_reference(file)

    assert read.step == pytest.approx(0.01)
    np.testing.assert_allclose(read.angles, [[0, 0], [0.1, 0.2], [0.2, 0.4]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,q1\n0,0\n1,1\n", "q1 and q2"),
        ("time,q1,q2\n0,0,0\n", "two or more rows"),
        ("time,q1,q2\n0,0,0\n1,x,0\n", "needs numbers"),
        ("time,q1,q2\n0,0,0\n1,0,0\n3,0,0\n", "evenly spaced"),
        ("time,q1,q2\n0,0,0\n1,nan,0\n2,0,0\n", "finite"),
    ],
)
def test_files_that_are_no_references_are_refused(tmp_path, text, message):
    file = tmp_path / "motion.csv"
    file.write_text(text)

    with pytest.raises(InputError, match=message):
        read_reference(file)


@pytest.mark.parametrize(
    "make",
    [
        lambda: minimum_jerk((0.8, 0.8), 0.0),
        lambda: sinusoid((0.8,), 0.8, 1.0, step=2.0),
        lambda: chirp((0.15,), 6.0, 0.5, 40.0),
        lambda: Reference(step=0.0, angles=np.zeros((2, 2))),
        lambda: Reference(step=0.1, angles=np.zeros(4)),
    ],
)
def test_references_that_cannot_be_are_refused(make):
    with pytest.raises(InputError):
        make()


# Learning.


def test_the_seed_s_arm_learns_within_eleven_iterations(learned):
    """Section 4.3: under 0.08 rad on both joints after 11 motions of 20 s."""
    assert len(learned.iterations) <= 11
    assert learned.converged
    assert learned.warning == ""
    assert learned.iterations[-1].worst.max() < 0.08
    assert learned.iterations[0].worst[0] > 0.3, "without learning the soft arm sags"


def test_an_error_is_measured_by_its_worst_its_norm_and_its_root_mean_square(learned):
    still = np.zeros((2, 2))
    error = np.array([[3.0, -1.0], [-4.0, 7.0]])
    found = replace(learned.best, equilibrium=still, link_equilibrium=still, position=still, error=error)

    assert found.worst.tolist() == [4.0, 7.0]
    assert found.error_norm == pytest.approx([math.sqrt(10.0), math.sqrt(65.0)])
    assert found.root_mean_square == pytest.approx([math.sqrt(12.5), 5.0])


def test_each_input_is_the_one_before_and_its_error_by_the_law(learned):
    """Eq. (13) with K_q = 0.5 and a decay of 10 iterations."""
    np.testing.assert_array_equal(learned.iterations[0].equilibrium, REFERENCE.angles)
    for before, after in zip(learned.iterations, learned.iterations[1:], strict=False):
        gain = 0.5 * math.exp(-after.number / 10.0)
        np.testing.assert_allclose(after.equilibrium, before.equilibrium + gain * before.error, atol=1e-15)
        np.testing.assert_allclose(before.error, REFERENCE.angles - before.position)


@pytest.mark.parametrize(
    ("reference", "arm", "law"),
    [
        (sinusoid((0.5, 0.3), 0.8, 8.0), CompliantArm(), LearningLaw(gain=0.8, iterations=15)),
        (minimum_jerk((-0.6, 0.4), 5.0), CompliantArm(), LearningLaw(gain=1.0, decay=math.inf)),
        (minimum_jerk((0.8, 0.8), 10.0), CompliantArm().with_gravity(0.0), LearningLaw(tolerance=0.06)),
        (minimum_jerk((0.8, 0.8), 10.0), CompliantArm(presets=(0.6, 0.6)), LearningLaw(tolerance=0.06)),
    ],
    ids=["sinusoid", "faster, constant gain", "horizontal", "stiff"],
)
def test_other_motions_gains_and_arms_are_learned(reference, arm, law):
    assert learn(arm, reference, law).converged


def test_iterations_are_told_as_they_come():
    heard = []
    found = learn(
        CompliantArm(), minimum_jerk((0.8, 0.8), 2.0), LearningLaw(iterations=3, tolerance=1e-4), heard.append
    )

    assert heard == list(found.iterations)
    assert [each.number for each in heard] == [1, 2, 3]


def test_too_much_gain_diverges_and_is_told_so():
    found = learn(CompliantArm(), minimum_jerk((0.8, 0.8), 4.0), LearningLaw(gain=8.0))

    assert not found.converged
    assert found.warning.startswith("it diverges")
    assert "lower the gain" in found.warning
    assert len(found.iterations) < 11, "links that go round teach nothing"
    assert found.best.worst.max() <= found.iterations[0].worst.max()


@pytest.mark.parametrize(
    ("worst", "law", "remedy"),
    [
        ([0.4, 0.3, 0.2], LearningLaw(), "allow more iterations"),
        ([0.4, 0.2, 0.3], LearningLaw(), "does not settle.*lower the gain"),
        ([0.4, 0.3, 0.5], LearningLaw(), "diverges.*lower the gain"),
        ([0.4, 0.3, 0.29], LearningLaw(decay=1.0), "let it decay more slowly"),
        ([0.4, 0.08], LearningLaw(), "^$"),
    ],
)
def test_a_warning_names_the_remedy(worst, law, remedy):
    assert re.search(remedy, warning_of(worst, law))


@pytest.mark.parametrize(
    ("worst", "law", "warning"),
    [
        (
            [0.4, 0.3, 0.2], LearningLaw(tolerance=0.05),
            "it has not converged: 200 mrad after 3 iterations, 50 mrad are required; allow more iterations",
        ),
        (
            [0.4, 0.2, 0.3], LearningLaw(),
            "it does not settle: 300 mrad after 3 iterations, 200 mrad before; lower the gain",
        ),
        (
            [0.4, 1.26], LearningLaw(),
            "it diverges: the largest error grew from 400 mrad to 1.3 rad; lower the gain, or use a slower reference",
        ),
        (
            [0.3], LearningLaw(decay=0.4),
            "it has not converged: 300 mrad after 1 iterations, in which the gain has decayed to nothing; "
            "let it decay more slowly",
        ),
    ],
)  # fmt: skip
def test_a_warning_states_the_errors_and_their_units(worst, law, warning):
    assert warning_of(worst, law) == warning


def test_an_error_of_a_radian_is_stated_in_radians():
    assert [in_words(error) for error in (0.0, 0.0816, 0.999, 1.0, 6.28)] == [
        "0 mrad", "82 mrad", "999 mrad", "1.0 rad", "6.3 rad",
    ]  # fmt: skip


def test_learning_has_converged_at_its_tolerance_and_the_best_iteration_is_the_nearest(learned):
    def with_errors(*errors):
        each = [replace(learned.best, number=k, error=np.array([[e, -0.01]])) for k, e in enumerate(errors, 1)]
        return replace(learned, law=LearningLaw(tolerance=0.25), iterations=tuple(each))

    found = with_errors(0.5, -0.25, 0.26)
    assert (found.best.number, found.converged) == (2, False)
    assert found.warning.startswith("it does not settle: 260 mrad")
    found = with_errors(0.5, -0.25)
    assert (found.best.number, found.converged, found.warning) == (2, True, "")


@pytest.mark.parametrize("wrong", [{"gain": 0.0}, {"decay": 0.0}, {"tolerance": -1.0}, {"iterations": 0}])
def test_laws_that_teach_nothing_are_refused(wrong):
    with pytest.raises(InputError, match="learning"):
        LearningLaw(**wrong)


def test_a_reference_of_one_joint_teaches_no_arm():
    with pytest.raises(InputError, match="1 joints for an arm of two"):
        learn(CompliantArm(), minimum_jerk((0.8,), 1.0))


def test_the_learned_input_is_written_for_the_real_arm(learned, tmp_path):
    file = write_input(REFERENCE.time, learned.best.equilibrium, tmp_path / "new" / "input.csv")
    rows = list(csv.reader(file.read_text().splitlines()))
    numbers = np.array(rows[1:], dtype=float)

    assert tuple(rows[0]) == CSV_COLUMNS
    np.testing.assert_allclose(numbers[:, 0], REFERENCE.time, atol=1e-9)
    np.testing.assert_allclose(numbers[:, 1:], learned.best.equilibrium, atol=1e-8)
