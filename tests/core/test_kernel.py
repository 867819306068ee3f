"""The population kernel against the rollout kernel: two loops around one step must give one answer.

Candidates are drawn from the whole box of bounds. A batch mixes recordings of different lengths, steps, benches and
gains, as real sessions do; no lane may see its neighbours.
"""

from dataclasses import replace

import numpy as np
import pytest

from core.identification.search.objective import Batch, measured_velocity
from core.kernel.layout import Setup, Slot, bind, empty_rows
from core.kernel.population import LANES
from core.motion.simulation import simulate_recording
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from core.servo.catalogue import load_servo
from core.servo.terms import COMMAND_PATH_TERMS
from tests.core.conftest import LAW_MODELS, catalogue_model, commands

RUNS = (
    # trajectory, samples, step [s], kp share, inertia [kg·m²], gravity torque at 90° [stall torque]
    ("sin_time_square", 373, 0.0020, 1.0, 0.05, 0.1),
    ("lift_and_drop", 1301, 0.0016, 2.0, 0.08, 0.2),
    ("sin_sin", 5, 0.0025, 0.5, 0.05, 0.2),
    ("up_and_down", 401, 0.0025, 0.5, 0.10, 0.3),
)
"""Steps are short enough for every candidate of the box: an explicit step longer than 2·J·R/k_t² is unstable, and
an unstable run magnifies the last bit of a rounding error until the two kernels have nothing in common."""


def recordings(model, random, full):
    """Noise stands for the measured motion."""
    base, stall = model.default_settings(), load_servo(model.servo).stall_torque
    found = []
    for name, samples, step, share, inertia, load in RUNS:
        path, time = make_trajectory(name), step * np.arange(samples)
        run = commands(
            model,
            path.goal(time),
            enable=path.torque_enable(time),
            step=step,
            bench=Bench(
                mass=1.0, length=1.0, angle_offset=0.01, measured_inertia=inertia * stall,
                measured_gravity_torque=load * stall,
            ),
            settings=replace(base, kp=base.kp * share, ki=float(full), kd=float(full)),
            position=random.normal(0.0, 0.3, samples),
            velocity=random.normal(0.0, 1.0, samples),
            supply_voltage=base.supply_voltage * random.uniform(0.9, 1.1, samples),
        )  # fmt: skip
        found.append(replace(run, id=name))
    return found


def candidates(model, random, count):
    """Vectors from the box of bounds, but for Stribeck exponents below 1: their infinite slope at rest magnifies the
    last bit of a velocity."""
    low, high = model.parameters.bounds().T
    names = [p.name for p in model.parameters.free]
    low[names.index("alpha")] = 1.0
    if not model.leapfrog and "supply_sag" in names:
        # A larger sag that follows the current one step late oscillates.
        high[names.index("supply_sag")] = 0.5
    return low + random.uniform(0.0, 1.0, (count, len(low))) * (high - low)


def law_of(name, full, more=(), **options):
    path = COMMAND_PATH_TERMS if full else ("release_braking",)
    return catalogue_model(friction="m6", command_path=(*path, *more), **LAW_MODELS[name], **options)


REST = pytest.mark.exhaustive("the rest of the table")


@pytest.mark.parametrize(
    "flags",
    [
        pytest.param({"integrator": "leapfrog"}, id="leapfrog"),
        pytest.param({"integrator": "algorithm1"}, id="algorithm1"),
        pytest.param({"integrator": "bam"}, id="bam", marks=REST),
        pytest.param({"quadratic_gate": "opposing"}, id="opposing", marks=REST),
        pytest.param({"more": ("backlash",)}, id="backlash", marks=REST),
    ],
)
@pytest.mark.parametrize(
    ("full", "substeps"),
    [
        pytest.param(False, 1, id="plain"),
        pytest.param(True, 3, id="full substeps"),
        pytest.param(False, 3, id="plain substeps", marks=REST),
        pytest.param(True, 1, id="full", marks=REST),
    ],
)
@pytest.mark.parametrize("law", list(LAW_MODELS))
def test_population_equals_rollouts(law, full, substeps, flags, random):
    model = law_of(law, full, substeps=substeps, **flags)
    runs, matrix = recordings(model, random, full), candidates(model, random, LANES + 1)

    batch = Batch(model, runs, threads=1)
    # Impacts magnify rounding from one to the next.
    near, first, alike = (1e-9, None, 1e-9) if "more" not in flags else (1e-7, 100, 1e-3)
    scores, residuals = batch.scores(matrix), batch.residuals(matrix, lambda _, found: found.copy())

    for place, vector in enumerate(matrix):
        moved = model.with_vector(vector)
        for number, run in enumerate(runs):
            motion = simulate_recording(moved, run)
            errors, velocities = motion.position - run.position, motion.velocity - measured_velocity(run)
            np.testing.assert_allclose(residuals[number][:first, place], errors[:first], rtol=near, atol=near)
            found = [each[number, place] for each in (scores.mae, scores.rmse, scores.velocity_mae)]
            expected = np.abs(errors).mean(), np.sqrt((errors**2).mean()), np.abs(velocities).mean()
            assert found == pytest.approx(expected, rel=alike)


@pytest.mark.parametrize(("law", "full"), [("voltage", False), ("current", True)])
def test_a_candidate_does_not_depend_on_its_lane_or_neighbours(law, full, random):
    model = law_of(law, full)
    batch, matrix = Batch(model, recordings(model, random, full), threads=1), candidates(model, random, 2 * LANES)
    order = random.permutation(len(matrix))
    errors = batch.scores(matrix).mae

    np.testing.assert_array_equal(batch.scores(matrix[order]).mae, errors[:, order])
    alike = np.repeat(matrix[:1], LANES, axis=0)
    np.testing.assert_array_equal(batch.scores(alike).mae, np.repeat(errors[:, :1], LANES, axis=1))


@pytest.mark.parametrize("flags", [{"integrator": "bam"}, {"quadratic_gate": "opposing"}], ids=["bam", "opposing"])
def test_flags_reach_the_kernel(flags, random):
    plain, model = law_of("voltage", False, integrator="algorithm1"), law_of("voltage", False, **flags)
    model = replace(model, integrator=flags.get("integrator", "algorithm1"))
    runs, matrix = recordings(model, random, False), candidates(plain, random, LANES)

    assert not np.allclose(Batch(model, runs).scores(matrix).mae, Batch(plain, runs).scores(matrix).mae, rtol=1e-6)


def test_binding_scales_gains_and_adds_the_bench():
    row = empty_rows(1)[0]
    row[[Slot.KP, Slot.KI, Slot.KD, Slot.KV]] = 2.0, 3.0, 5.0, 7.0
    row[Slot.ANGLE_OFFSET] = 0.1
    setup = np.zeros(len(Setup))
    setup[[Setup.KP, Setup.KI, Setup.KD, Setup.KV]] = 10.0, 20.0, 30.0, 40.0
    setup[[Setup.INERTIA, Setup.GRAVITY_TORQUE, Setup.ANGLE_OFFSET]] = 0.3, 0.7, 0.02

    bound = bind(row, setup)

    assert bound[[Slot.KP, Slot.KI, Slot.KD, Slot.KV]].tolist() == [20.0, 60.0, 150.0, 280.0]
    assert bound[[Slot.INERTIA, Slot.GRAVITY_TORQUE]].tolist() == [0.3, 0.7]
    assert bound[Slot.ANGLE_OFFSET] == pytest.approx(0.12)
    assert row[Slot.KP] == 2.0


def test_a_reset_puts_the_shaft_back_to_the_measured_motion_and_nothing_else(random):
    """Without a command path, which goes on, every piece is a run of its own."""
    model = law_of("voltage", False, integrator="algorithm1")
    (run,) = recordings(model, random, False)[1:2]
    matrix, length = candidates(model, random, LANES), 7
    cut = Batch(model, [run], supply="header").in_pieces(length * RUNS[1][2])
    rest = replace(run, channels={name: values[length:].copy() for name, values in run.channels.items()})
    rest.channels["velocity"][0] = cut._velocity[length]
    run.channels["velocity"][0] = cut._velocity[0]

    whole, pieces, alone = (
        batch.residuals(matrix, lambda _, found: found.copy())[0]
        for batch in (Batch(model, [run], supply="header"), cut, Batch(model, [rest], supply="header"))
    )

    np.testing.assert_array_equal(pieces[: length + 1], whole[: length + 1])
    np.testing.assert_array_equal(pieces[length + 1 : 2 * length + 1], alone[1 : length + 1])
