"""What an export's README says, by hand, and what a fleet's draws depend on. Nothing is simulated or refitted."""

from dataclasses import replace

import numpy as np
import pytest

from core.bench import Bench
from core.errors import ExportError
from core.export.approximation import Approximation, Form
from core.export.contract import Check
from core.export.files import README, add_notes, readme_section, state_check, write_files
from core.export.notes import fit_notes, lead_note, settings_note, zero_notes
from core.export.randomisation.files import Engine, Nearest, Preparation, RandomisationOptions, native_spread
from core.export.references import GridRun
from core.fleet.agreement import Agreement
from core.fleet.population import population
from core.fleet.spread import MEAN, Spread, mean_model
from core.recording import ServoSettings
from core.shipped import load_model
from tests.core.fleet.specimens import fleet

BENCH = Bench(mass=0.5, length=0.15)
MODEL = load_model("mx106", "m6")


@pytest.mark.parametrize(
    ("gains", "said"),
    [
        ({}, "kp 8, supply 11.1 V."),
        ({"ki": 3.0}, "kp 8, ki 3, supply 11.1 V."),
        ({"damping": 0.75}, "kp 8, damping 0.75, supply 11.1 V."),
        ({"damping": 0.0}, "kp 8, damping 0, supply 11.1 V."),
        ({"ki": 3.0, "damping": 0.75}, "kp 8, ki 3, damping 0.75, supply 11.1 V."),
    ],
)
def test_the_settings_that_are_fixed_are_all_said(gains, said):
    settings = ServoSettings(servo="mx106", kp=8.0, supply_voltage=11.1, **gains)
    assert settings_note(settings) == f"Fixed by this export: {said} Derivative gain is 0."


@pytest.mark.parametrize(
    ("timestep", "said"), [(0.001, "0.5 mrad for each rad/s at 1 ms"), (0.005, "2.5 mrad for each rad/s at 5 ms")]
)
def test_a_joint_leads_by_half_a_time_step(timestep, said):
    """At 1 rad/s it turns 1 mrad in 1 ms."""
    assert f"by half a time step: {said}." in lead_note(timestep)


@pytest.mark.parametrize("offset", [0.25, -0.25])
def test_a_servos_zero_is_added_to_its_goal_and_subtracted_from_its_reading(offset):
    """Where the servo reads 0 the joint is at the offset, so the joint's own zero is at minus that in the servo."""
    parameters = load_model("mx106", "m1").parameters.with_values({"q_offset": offset})
    [note] = zero_notes(replace(load_model("mx106", "m1"), parameters=parameters))
    assert f"reads 0, its shaft is at {offset:g} rad" in note
    assert f"moves to its goal {offset:+g} rad and reads the joint's angle {-offset:+g} rad" in note


def test_the_error_of_a_refit_is_its_mean_and_its_worst_run():
    runs = tuple(
        GridRun(trajectory=name, bench=BENCH, settings=ServoSettings(servo="mx106", kp=kp, supply_voltage=12.0))
        for name, kp in (("sin_sin", 8.0), ("up_and_down", 16.0), ("lift_and_drop", 32.0))
    )
    written = replace(load_model("mx106", "m1"), name="written")
    found = Approximation(
        model=written,
        refitted=("friction_base",),
        errors=np.array([0.002, 0.009, 0.001]),
        runs=runs,
        held_back_error=0.005,
    )
    assert (found.mean_mrad, found.worst_mrad) == pytest.approx((4.0, 9.0))
    load = f"{BENCH.gravity_torque:.3g} N·m at 90°"
    assert found.worst_run == f"up_and_down, {load}, kp 16"
    what, errors = fit_notes(found, "An engine", ["friction M6", "the bridge"])
    base = written.values["friction_base"]
    assert what == (
        "An engine cannot represent friction M6, the bridge. The export holds the best servo with "
        "Coulomb–viscous friction, "
        f"with friction_base refitted to the model's own motion (friction_base = {base:.6g})."
    )
    assert "4.00 mrad on average and 9.00 mrad in the worst run (up_and_down, " in errors
    assert "at a load and gain it was not fitted to, 5.00 mrad" in errors


def test_a_readme_holds_the_last_check_of_each_export(tmp_path):
    for target in ("one", "two"):
        section = readme_section(MODEL, target, {f"{target}.txt": "a file"}, [f"Known of {target}."], f"Use {target}.")
        write_files(tmp_path, {f"{target}.txt": target}, MODEL, target, section)
    for number in (1, 2, 3):
        state_check(tmp_path, MODEL, "one", f"Check number {number}.")
    state_check(tmp_path, MODEL, "two", "Check of two.")
    add_notes(tmp_path, MODEL, "one", ["Added later."])
    text = (tmp_path / README).read_text("utf-8")
    first, second = text.split("<!-- servobench export: ")[1:]
    assert [text.count(f"Check number {number}.") for number in (1, 2, 3)] == [0, 0, 1]
    order = ("Known of one.", "Added later.", "Use one.", "## Check", "Check number 3.")
    assert sorted(order, key=first.index) == list(order)
    order = ("Known of two.", "Use two.", "## Check", "Check of two.")
    assert sorted(order, key=second.index) == list(order)
    assert text.count("## Check") == 2
    assert "Added later." not in second
    with pytest.raises(ExportError, match=r"has no section on an export of .* to three"):
        state_check(tmp_path, MODEL, "three", "No such export.")


def test_a_check_is_said_with_its_conditions_its_mean_and_its_worst_run():
    errors = {"sin_sin": 0.5, "up_and_down": 2.5, "sin_sin, half load": 1.5, "up_and_down, half load": 3.5}
    check = Check(how="run in an engine", errors=errors)
    assert (check.mean_mrad, check.worst_mrad) == pytest.approx((2.0, 3.5))
    assert check.statement == (
        "Checked: run in an engine, as exported and at half load: 2 mrad from the "
        "identified model on average, 3.5 mrad in the worst run (up_and_down, half load)."
    )
    assert check.table.splitlines()[2:] == [
        "| mean error / mrad | sin_sin | up_and_down |",
        "| --- | --- | --- |",
        "| as exported | 0.5 | 2.5 |",
        "| half load | 1.5 | 3.5 |",
    ]


@pytest.fixture(scope="module")
def spread():
    units = fleet(5, {"kt": 0.04, "friction_base": 0.15, "armature": 0.1}, friction="m1", seed=3)
    found = population(units, "m1")
    return Spread(population=found, centre=MEAN, model=mean_model(found, units))


def natives(spread, **options):
    """Draws of an engine whose joint has friction and armature of the nearest model."""

    def native(model, bench, settings, nearest):
        held = nearest(model, bench, settings, Form())
        return {"friction": held.values["friction_base"], "armature": held.values["armature"]}

    engine = Engine(
        target="engine", title="Engine", programs=(), export=lambda *_: [], native=native, usage=lambda file: file
    )
    prepared = Preparation(
        spread=spread,
        options=RandomisationOptions(**options),
        bench=BENCH,
        settings=spread.model.default_settings(),
        agreement=Agreement(ratio=1.0, covered=1.0, energy=0.0, spread=1.0),
        names=(),
        draws=np.empty((0, 0)),
        units=np.empty((0, 0)),
    )
    told = []
    return native_spread(prepared, engine, lambda share, text: told.append((share, text))), told


def test_draws_of_an_engine_follow_number_and_seed(spread):
    first, told = natives(spread, draws=7, seed=1)
    again, other = natives(spread, draws=7, seed=1)[0], natives(spread, draws=7, seed=2)[0]
    assert first.draws.shape == (7, 2)
    assert np.array_equal(first.draws, again.draws)
    assert not np.isclose(first.draws, other.draws).any()
    assert first.ranges == other.ranges
    assert [share for share, _ in told] == [0.0, 0.2, 0.4, 0.6, 0.8]
    assert [text for _, text in told] == [f"Engine: {unit}" for unit in spread.population.units]


def test_ranges_of_an_engine_hold_the_middle_95_percent(spread):
    """Of a logarithmic normal distribution: exp(mean ± 1.96 standard deviations) of the units' logarithms."""
    found, _ = natives(spread, draws=2)
    logarithms = np.log(found.units)
    middle, deviation = logarithms.mean(axis=0), logarithms.std(axis=0, ddof=1)
    for place, name in enumerate(found.names):
        ends = [middle[place] + side * 1.959964 * deviation[place] for side in (-1.0, 1.0)]
        np.testing.assert_allclose(found.ranges[name], np.exp(ends), 1e-3)
    assert found.all_inside == found.inside("friction") == found.inside("armature") == 1.0
    low, high = found.units[:, 0].min(), found.units[:, 0].max()
    edge = replace(found, ranges={**found.ranges, "friction": (low, high)})
    assert edge.inside("friction") == edge.all_inside == 1.0
    narrow = replace(found, ranges={**found.ranges, "friction": (low, 0.999 * high)})
    assert narrow.inside("friction") == narrow.all_inside == 0.8


def test_each_unit_and_form_has_a_nearest_model_of_its_own(spread):
    found, _ = natives(spread, draws=2)
    own = [[model.values["friction_base"], model.values["armature"]] for model in spread.units()]
    np.testing.assert_allclose(found.units, own)
    centre = spread.model.values
    assert dict(found.nominal) == pytest.approx({name: centre[own] for name, own in (
        ("friction", "friction_base"), ("armature", "armature"))})  # fmt: skip
    nearest, settings = Nearest(), spread.model.default_settings()
    model = spread.units()[0]
    kept, lost = (nearest(model, BENCH, settings, Form(kept=kept)) for kept in (("command_delay",), ()))
    assert nearest(model, BENCH, settings, Form()) is lost
    assert kept is not lost
