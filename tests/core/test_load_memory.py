"""Memory of the load: friction by the load follows a change of the load late."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from core.base.errors import ModelError
from core.export import export_model, exporters
from core.export.notes import AS_IDENTIFIED, fidelity
from core.export.programs import program
from core.export.servo_file import servo_numbers
from core.identification.search.objective import Batch
from core.kernel.population import LANES
from core.motion.simulation import simulate_recording, simulate_trajectory, with_integration
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from core.servo.model import ServoModel, with_contact
from core.servo.terms import CONTACTS
from tests.core.conftest import LAW_MODELS, catalogue_model
from tests.core.export.conftest import short_refits
from tests.core.test_kernel import candidates, recordings

STEP = 0.0025
HEAVY = Bench(mass=1.0, length=0.15)
DROP = make_trajectory("lift_and_drop", 4.0)


def with_memory(time, friction="m6", law="voltage", contact="rigid", path=(), **values):
    options = {"command_path": ("load_memory", *path), "values": {"load_memory": time, **values}}
    return with_contact(catalogue_model(friction=friction, **LAW_MODELS[law], **options), contact)


def positions(model, trajectory, step=STEP, *, coarse=STEP, start=(0.0, 0.0)):
    model = replace(model, dt=coarse, substeps=round(coarse / step))
    position, velocity = start
    return simulate_trajectory(
        model, trajectory, HEAVY, model.default_settings(), coarse, position=position, velocity=velocity, held=False
    ).position


@pytest.mark.parametrize("contact", CONTACTS)
@pytest.mark.parametrize("law", LAW_MODELS)
def test_a_memory_of_no_time_changes_nothing(law, contact):
    without = with_contact(catalogue_model(friction="m6", **LAW_MODELS[law]), contact)
    np.testing.assert_allclose(
        positions(with_memory(0.0, law=law, contact=contact), DROP), positions(without, DROP), rtol=0, atol=1e-12
    )


def test_friction_without_load_has_no_memory():
    np.testing.assert_array_equal(positions(with_memory(0.3, "m2"), DROP), positions(with_memory(0.0, "m2"), DROP))


def swing(model, start, times):
    """A released pendulum, solved finely: angle (n,)."""
    p = model.values
    inertia = HEAVY.inertia + p["armature"]

    def slopes(t, state):
        q, v, load = state
        torque = -HEAVY.gravity_torque * math.sin(q + p["q_offset"])
        friction = (p["friction_base"] + load) * math.tanh(v / 1e-3) + p["friction_viscous"] * v
        now = p["load_friction_base"] * abs(torque)
        return [v, (torque - friction) / inertia, (now - load) / p["load_memory"]]

    first = [*start, p["load_friction_base"] * abs(HEAVY.gravity_torque * math.sin(start[0] + p["q_offset"]))]
    return solve_ivp(slopes, (0.0, times[-1]), first, "Radau", times, rtol=1e-8, atol=1e-10, max_step=1e-3).y[0]


@pytest.mark.parametrize("time", [0.05, 0.4])
def test_a_released_pendulum_swings_as_its_equations(time):
    model = with_memory(time, "m3", friction_base=0.02, friction_viscous=0.01, load_friction_base=0.3)
    released = replace(DROP, enable_function=lambda time, _: np.zeros(len(time), dtype=bool))
    found = positions(model, released, start=(1.4, 0.0))[:600]
    expected = swing(model, (1.4, 0.0), STEP * np.arange(600))
    at_once = positions(model.with_values({"load_memory": 0.0}), released, start=(1.4, 0.0))[:600]

    assert np.abs(found - expected).max() < 1e-3
    assert np.abs(at_once - expected).max() > 0.02


@pytest.mark.parametrize(
    ("law", "contact"),
    [
        pytest.param(law, contact, marks=[] if place in (0, 2) else pytest.mark.exhaustive("the rest of the table"))
        for place, (law, contact) in enumerate((law, contact) for law in LAW_MODELS for contact in CONTACTS)
    ],
)
def test_memory_is_of_second_order(law, contact):
    model = with_memory(0.1, law=law, contact=contact)
    steps = 0.004 / 2.0 ** np.arange(4)
    reference = positions(model, DROP, 0.004 / 512, coarse=0.004)
    found = np.array([np.abs(positions(model, DROP, h, coarse=0.004) - reference).mean() for h in steps])
    print(f"{found * 1e6} µrad, orders {np.log2(found[:-1] / found[1:])}")

    assert found[0] < 0.3e-3
    assert np.log2(found[0] / found[-1]) / 3.0 > 1.7


@pytest.mark.parametrize("path", [(), ("command_delay", "pwm_lag"), ("backlash",)])
@pytest.mark.parametrize("contact", CONTACTS)
def test_a_population_moves_as_its_candidates(path, contact, random):
    model = with_memory(0.2, contact=contact, path=path)
    runs, matrix = recordings(model, random, False), candidates(model, random, LANES)

    motions = Batch(model, runs, threads=1).residuals(matrix, lambda _, found: found.copy())

    for place, vector in enumerate(matrix):
        for run, found in zip(runs, motions, strict=True):
            expected = simulate_recording(model.with_vector(vector), run).position - run.position
            np.testing.assert_allclose(found[:, place], expected, rtol=0, atol=1e-7)


def test_a_first_order_integrator_refuses_memory():
    with pytest.raises(ModelError, match=r"load_memory needs the integrator .leapfrog., not .algorithm1"):
        with_integration(with_memory(0.1), "algorithm1")


def test_a_model_file_keeps_memory():
    model = with_memory(0.1)

    assert ServoModel.from_json_text(model.to_json_text()) == model


@pytest.mark.parametrize("target", sorted({*exporters()} - {"webots-servo"}))
def test_an_export_says_what_becomes_of_memory(target, tmp_path):
    """It is among the numbers of a target that holds it, otherwise in its notes. Webots 6 has no friction at all."""
    options = {"timestep": 1e-3} if target == "c" else {}

    with short_refits():
        found = export_model(with_memory(0.35), target, tmp_path, **options)

    texts = [file.read_text("utf-8") for file in found.files[:-1] if file.suffix in (".json", ".h", ".xml")]
    held = exporters()[target].load_memory
    assert any("load_memory" in text and "0.35" in text for text in texts) == held
    lost = ("memory of the load", "no key: load_memory")
    assert held or any(words in note for note in found.notes for words in lost)
    assert (AS_IDENTIFIED in found.notes) == (held and target != "json")


def test_a_target_without_memory_says_what_is_lost():
    said = fidelity(with_memory(0.35), "rigid", True, False)

    assert said.startswith("The model's memory of the load, 0.35 s, is left out: friction follows the load at once.")
    assert fidelity(with_memory(0.35), "rigid", True, True) == AS_IDENTIFIED


def test_a_servo_file_with_memory_is_of_version_8():
    model = with_memory(0.35)
    numbers = servo_numbers(model, model.default_settings())
    read = program("servobench_servo").load_servo

    assert (numbers["version"], numbers["load_memory"]) == (8, 0.35)
    assert "backlash" not in numbers
    assert "load_memory" not in servo_numbers(with_memory(0.0), model.default_settings())
    assert program("servobench_servo").named(read(numbers)[None])["backlash"] == 0.0
    parted = with_memory(0.35, path=("backlash",), backlash=0.01)
    both = servo_numbers(parted, model.default_settings(), backlash=True)
    assert (both["version"], both["load_memory"], both["backlash"]) == (8, 0.35, 0.01)
    with pytest.raises(ValueError, match="backlash, which this program does not compute"):
        program("servobench_servo").Bank([both], 1e-3)
