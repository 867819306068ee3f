"""The population kernel against the rollout kernel: two loops around one step must give one answer.

Candidates are drawn from the whole box of bounds. The batch mixes recordings of different lengths, steps, benches
gains and steps a sample, as real sessions do; no lane may see its neighbours. All of it holds for both steps, the
first-order one of Algorithm 1 and the leapfrog.
"""

from dataclasses import replace

import numpy as np
import pytest

from core.actuator import setup_row
from core.bench import Bench
from core.catalogue import load_servo
from core.kernel.layout import Law, Setup, Slot, bind, empty_rows
from core.kernel.population import LANES, SUMS, population_kernel
from core.kernel.rollout import OUTPUTS, initial_state, rollout_kernel
from core.terms import COMMAND_PATH_TERMS
from core.trajectories import make_trajectory
from tests.core.conftest import LAW_MODELS, catalogue_model

CANDIDATES = 2 * LANES
RUNS = (
    # trajectory, samples, step [s], kp share, inertia [kg·m²], gravity torque at 90° [stall torque]
    ("sin_time_square", 373, 0.0020, 1.0, 0.05, 0.1),
    ("lift_and_drop", 1301, 0.0016, 2.0, 0.08, 0.2),
    ("sin_sin", 1, 0.0025, 0.5, 0.05, 0.2),
    ("up_and_down", 401, 0.0025, 0.5, 0.10, 0.3),
)
"""Steps are short enough for every candidate of the box: an explicit step longer than 2·J·R/k_t² is unstable, and
an unstable run magnifies the last bit of a rounding error until the two kernels have nothing in common."""


@pytest.fixture(params=["algorithm1", "leapfrog"])
def integrator(request):
    return request.param


class Batch:
    """Recordings laid end to end as the kernel takes them, with noise as the measured motion."""

    def __init__(self, model, random, *, full, substeps=(1, 1, 1, 1)):
        base, spec = model.default_settings(), load_servo(model.servo)
        self.leapfrog = model.leapfrog
        self.substeps = np.array(substeps)
        self.samples = np.array([samples for _, samples, *_ in RUNS])
        self.first = np.cumsum(self.samples) - self.samples
        steps = self.samples * self.substeps
        self.first_step = np.cumsum(steps) - steps
        self.steps = [slice(begin, begin + count) for begin, count in zip(self.first_step, steps, strict=True)]
        total = int(self.samples.sum())
        self.position = random.normal(0.0, 0.3, total)
        self.velocity = random.normal(0.0, 1.0, total)
        self.goal, self.enable = np.zeros((2, int(steps.sum())))
        self.supply = np.repeat(
            base.supply_voltage * random.uniform(0.9, 1.1, total), np.repeat(self.substeps, self.samples)
        )
        self.setups = np.zeros((len(RUNS), len(Setup)))
        for r, (name, samples, step, share, inertia, load) in enumerate(RUNS):
            settings = replace(base, kp=base.kp * share, ki=float(full), kd=float(full))
            bench = Bench(
                mass=1.0,
                length=1.0,
                angle_offset=0.01,
                measured_inertia=inertia * spec.stall_torque,
                measured_gravity_torque=load * spec.stall_torque,
            )
            self.setups[r] = setup_row(model.control, bench, settings, step / substeps[r])
            trajectory, time = make_trajectory(name), np.repeat(step * np.arange(samples), substeps[r])
            self.goal[self.steps[r]] = trajectory.goal(time)
            self.enable[self.steps[r]] = trajectory.torque_enable(time)

    def population(self, law, full, rows, chosen=None):
        return self.kept(law, full, rows, range(len(RUNS)) if chosen is None else chosen)[0]

    def kept(self, law, full, rows, chosen, reset=0):
        """Sums and positions; the sums of others than the chosen are NaN."""
        sums = np.full((len(RUNS), len(rows), SUMS), np.nan)
        motions = np.empty((self.samples[list(chosen)].sum(), len(rows)))
        population_kernel(law, full, leapfrog=self.leapfrog)(
            rows,
            self.setups,
            np.asarray(chosen),
            self.first,
            self.samples,
            self.substeps,
            self.first_step,
            np.full(len(RUNS), reset),
            self.goal,
            np.ones_like(self.goal),
            self.enable,
            self.supply,
            self.position,
            self.velocity,
            sums,
            motions,
        )
        return sums, motions

    def one_by_one(self, law, rows):
        sums = np.empty((len(RUNS), len(rows), SUMS))
        for r in range(len(RUNS)):
            begin, end = self.first[r], self.first[r] + self.samples[r]
            part = self.steps[r]
            nothing = np.zeros(part.stop - part.start)
            for c, row in enumerate(rows):
                out = np.empty((end - begin, len(OUTPUTS)))
                rollout_kernel(law, leapfrog=self.leapfrog)(
                    bind(row, self.setups[r]),
                    initial_state(self.position[begin], self.velocity[begin]),
                    self.goal[part],
                    np.ones_like(self.goal[part]),
                    self.enable[part],
                    self.supply[part],
                    nothing,
                    nothing,
                    nothing,
                    0,
                    self.setups[r, Setup.STEP],
                    self.substeps[r],
                    out,
                )
                e = out[:, 0] - self.position[begin:end]
                e_v = out[:, 1] - self.velocity[begin:end]
                sums[r, c] = np.abs(e).sum(), (e**2).sum(), np.abs(e_v).sum(), (e_v**2).sum()
        return sums


def random_rows(model, random, count=CANDIDATES):
    """Candidates from the box of bounds, but for Stribeck exponents below 1: their infinite slope at rest magnifies
    the last bit of a velocity."""
    low, high = model.parameters.bounds().T
    names = [p.name for p in model.parameters.free]
    low[names.index("alpha")] = 1.0
    if not model.leapfrog and "supply_sag" in names:
        # A larger sag that follows the current one step late oscillates.
        high[names.index("supply_sag")] = 0.5
    share = random.uniform(0.0, 1.0, (count, len(low)))
    return model.rows(low + share * (high - low))


def law_of(name, full, **options):
    path = COMMAND_PATH_TERMS if full else ("release_braking",)
    return catalogue_model(friction="m6", command_path=path, **LAW_MODELS[name], **options)


@pytest.mark.parametrize(
    ("full", "substeps"),
    [
        pytest.param(False, (1, 1, 1, 1), id="plain"),
        pytest.param(True, (3, 1, 4, 2), id="full substeps"),
        pytest.param(False, (3, 1, 4, 2), id="plain substeps", marks=pytest.mark.exhaustive("the rest of the table")),
        pytest.param(True, (1, 1, 1, 1), id="full", marks=pytest.mark.exhaustive("the rest of the table")),
    ],
)
@pytest.mark.parametrize("law", list(LAW_MODELS))
def test_population_equals_rollouts(law, full, substeps, integrator, random):
    model = law_of(law, full, integrator=integrator)
    kernel_law = model.control.kernel_law
    batch = Batch(model, random, substeps=substeps, full=full)
    rows = random_rows(model, random)

    together, alone = batch.population(kernel_law, full, rows), batch.one_by_one(kernel_law, rows)

    np.testing.assert_allclose(together, alone, rtol=1e-9)


@pytest.mark.parametrize("flags", [{"integrator": "bam"}, {"quadratic_gate": "opposing"}], ids=["bam", "opposing"])
def test_flags_reach_both_kernels(flags, random):
    flags = {"integrator": "algorithm1", **flags}
    model, plain = law_of("voltage", False, **flags), law_of("voltage", False, integrator="algorithm1")
    batch = Batch(model, random, full=False)
    rows = random_rows(model, np.random.default_rng(7))
    other = random_rows(plain, np.random.default_rng(7))

    together = batch.population(Law.VOLTAGE, False, rows)

    np.testing.assert_allclose(together, batch.one_by_one(Law.VOLTAGE, rows), rtol=1e-9)
    assert not np.allclose(together, batch.population(Law.VOLTAGE, False, other), rtol=1e-6)


@pytest.mark.parametrize(("law", "full"), [("voltage", False), ("current", True)])
def test_a_candidate_does_not_depend_on_its_lane_or_neighbours(law, full, integrator, random):
    model = law_of(law, full, integrator=integrator)
    kernel_law = model.control.kernel_law
    batch = Batch(model, random, full=full)
    rows = random_rows(model, random)
    order = random.permutation(CANDIDATES)

    sums = batch.population(kernel_law, full, rows)

    np.testing.assert_array_equal(batch.population(kernel_law, full, rows[order]), sums[:, order])
    alike = np.repeat(rows[:1], LANES, axis=0)
    np.testing.assert_array_equal(batch.population(kernel_law, full, alike), np.repeat(sums[:, :1], LANES, axis=1))


def test_only_the_chosen_recordings_are_simulated(integrator, random):
    model = law_of("voltage", False, integrator=integrator)
    batch = Batch(model, random, full=False, substeps=(2, 3, 1, 2))
    rows = random_rows(model, random, LANES)
    everything = batch.population(Law.VOLTAGE, False, rows)

    some = batch.population(Law.VOLTAGE, False, rows, chosen=[3, 1])

    np.testing.assert_array_equal(some[[1, 3]], everything[[1, 3]])
    assert np.isnan(some[[0, 2]]).all()


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


@pytest.mark.parametrize("full", [False, True], ids=["plain", "full"])
def test_positions_of_the_chosen_recordings_are_kept(full, integrator, random):
    model = law_of("voltage", full, integrator=integrator)
    batch = Batch(model, random, full=full, substeps=(2, 2, 3, 1))
    rows = random_rows(model, random)

    sums, motions = batch.kept(Law.VOLTAGE, full, rows, chosen=[2, 0])

    first, second = np.split(motions, [batch.samples[2]])
    for recording, motion in ((2, first), (0, second)):
        begin = batch.first[recording]
        measured = batch.position[begin : begin + batch.samples[recording], None]
        np.testing.assert_allclose(np.abs(motion - measured).sum(axis=0), sums[recording, :, 0], rtol=1e-12)


def test_a_reset_puts_the_shaft_back_and_nothing_else(integrator, random):
    """Without a command path, which goes on, every piece is a run of its own.

    The leapfrog's contact remembers its friction too, which moves where friction's speed is taken in the first step.
    """
    model = law_of("voltage", False, integrator=integrator)
    batch = Batch(model, random, full=False)
    rows = random_rows(model, random, LANES)
    _, whole = batch.kept(Law.VOLTAGE, False, rows, chosen=[1])

    _, pieces = batch.kept(Law.VOLTAGE, False, rows, chosen=[1], reset=7)

    np.testing.assert_array_equal(pieces[:8], whole[:8])
    batch.first[1] += 7
    batch.first_step[1] += 7
    batch.samples[1] -= 7
    _, rest = batch.kept(Law.VOLTAGE, False, rows, chosen=[1])
    np.testing.assert_allclose(pieces[8:15], rest[1:8], rtol=0.0, atol=1e-3 if model.leapfrog else 0.0)
