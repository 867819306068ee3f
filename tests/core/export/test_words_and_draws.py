"""What an export's README says, by hand, and what a fleet's draws depend on. Nothing is simulated or refitted."""

from dataclasses import replace

import numpy as np
import pytest

from core.base.errors import ExportError
from core.export.approximation import Approximation, Form
from core.export.contract import Check, ExportResult
from core.export.drives.carrying import Carried
from core.export.drives.fit import torque_law
from core.export.files import README, add_notes, readme_section, state_check, write_files
from core.export.notes import (
    bristle_notes,
    fit_notes,
    gain_notes,
    lead_note,
    settings_note,
    step_notes,
    zero_comment,
    zero_notes,
)
from core.export.references import GridRun
from core.export.targets.bam_json import firmware
from core.fleet.agreement import Agreement
from core.fleet.population import population
from core.fleet.randomisation.files import (
    COMPARED,
    Engine,
    NativeSpread,
    Nearest,
    Preparation,
    RandomisationOptions,
    _notes,
    native_spread,
)
from core.fleet.spread import MEAN, Spread, mean_model
from core.practice.reach import REACH
from core.servo.bench import Bench
from core.servo.model import with_contact
from core.servo.settings import ServoSettings
from core.servo.shipped import load_model
from tests.core.fleet.specimens import fleet

BENCH = Bench(mass=0.5, length=0.15)
MODEL = load_model("mx106", "m6")
RUN = GridRun(trajectory="sin_sin", bench=BENCH, settings=MODEL.default_settings())


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
    assert settings_note(load_model("mx106", "m1"), settings) == f"Fixed by this export: {said} Derivative gain is 0."


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


@pytest.mark.parametrize(("kp", "said"), [(8.0, ""), (32.0, ""), (64.0, "kp 64"), (4.0, "kp 4")])
def test_a_gain_beyond_those_of_the_fit_is_noted(kp, said):
    reach = {"speed": 5.0, "load": [0.1, 0.5], "kp": [8.0, 32.0], "released": True}
    fitted = replace(MODEL, provenance={REACH: reach, "train": ["a", "b"]})
    notes = gain_notes(fitted, fitted.default_settings(kp))
    assert notes == (
        [f"M6 was fitted to 2 runs at kp 8 to 32, and this export has {said}: it may err more."] if said else []
    )
    assert not gain_notes(MODEL, MODEL.default_settings(kp))


def test_a_comment_states_a_servos_zero_in_radians_and_degrees():
    model = load_model("mx106", "m1")
    assert zero_comment(model, "# ", "Add it.") == zero_comment(model) == ""
    moved = replace(model, parameters=model.parameters.with_values({"q_offset": -np.pi / 6}))
    said = "Where this servo reads 0, its shaft is at -0.523599 rad (-30 degrees)."
    assert zero_comment(moved) == said
    assert zero_comment(moved, "# ", "Add it.") == f"# {said} Add it.\n"


def test_a_bristle_is_described_by_its_stiffness_and_its_damping():
    assert bristle_notes(MODEL, "reset()") == []
    soft = with_contact(MODEL, "elastoplastic")
    numbers = {"bristle_stiffness": 123.4, "bristle_damping": 5.678}
    [note] = bristle_notes(replace(soft, parameters=soft.parameters.with_values(numbers)), "reset()")
    assert "a spring of 123.4 N·m/rad with a damper of 5.678 N·m·s/rad." in note
    assert note.startswith("The contact is elastoplastic: ")
    assert note.endswith("reset() zeroes it.")


@pytest.mark.parametrize("mean", [0.49, 0.51])
def test_an_identified_time_step_is_stated_if_it_costs_half_a_milliradian(monkeypatch, mean):
    monkeypatch.setattr("core.export.notes._step_difference", lambda *_: (mean, 4.5))
    model = replace(MODEL, integrator="bam", dt=0.006, substeps=3)
    notes = step_notes(model, BENCH, model.default_settings())
    assert notes == [
        "The model was identified with integrator bam at a time step of 2 ms. At that time step its own motion "
        "is 0.51 mrad from its converged motion on average, 4.50 mrad in the worst run. The converged motion is the "
        "exported one."
    ] * (mean > 0.5)


@pytest.mark.parametrize(
    ("friction", "values", "said"),
    [
        ("m1", {"friction_base": 0.0}, "viscous friction only"),
        ("m1", {}, "Coulomb–viscous friction"),
        ("m2", {"alpha": 1.5}, "Stribeck friction of exponent 1.5"),
    ],
)
def test_the_friction_of_a_written_model_is_named(friction, values, said):
    written = load_model("mx106", friction).with_values(values)
    found = Approximation(model=written, refitted=(), errors=np.ones(1), runs=(RUN,), held_back_error=0.0)
    (what,) = fit_notes(found, "An engine", [])
    assert what == (
        "An engine cannot represent friction as a budget. The export holds the best "
        f"servo with {said}, with its values unchanged."
    )


def test_values_carried_over_are_stated_beside_the_identified_ones():
    plain, carried = (
        Approximation(model=MODEL, refitted=(), errors=np.array(errors), runs=(RUN, RUN), held_back_error=held_back)
        for errors, held_back in (((0.002, 0.009), 0.007), ((0.001, 0.003), 0.004))
    )
    said = "5.50 mrad on average, 9.00 mrad in the worst run"
    assert Carried(plain=plain, carried=None).statement("a.json") == said
    assert Carried(plain=plain, carried=carried).statement("a.json") == (
        f"{said}; with the values carried over to that time step (`a.json`), 2.00 mrad and 3.00 mrad"
    )


@pytest.mark.parametrize(("servo", "law", "unit"), [("mx106", "voltage", "duty cycle"), ("erob80_50", "current", "A")])
def test_a_control_law_is_described_in_the_unit_of_its_output(servo, law, unit):
    model = load_model(servo, "m1")
    model = replace(model, control=replace(model.control, error_gain=0.125, output_limit=0.75))
    assert firmware(model) == f"{law} law, 0.125 {unit} per rad and unit of kp, at most 0.75 {unit}"


def test_a_result_tells_its_files_and_notes_and_that_it_is_not_checked(tmp_path):
    paths = [tmp_path / name for name in ("one.json", "two.md", "gone.md")]
    for size, path in zip((3, 70), paths, strict=False):
        path.write_bytes(b"x" * size)
    result = ExportResult(files=tuple(paths), notes=("A note.", "Another."))
    assert result.heading() == f"3 files in {tmp_path}, not checked, 2 notes"
    assert replace(result, notes=()).heading() == f"3 files in {tmp_path}, not checked, 0 notes"
    assert result.columns() == {"file": ["one.json", "two.md", "gone.md"], "size [bytes]": [3, 70, None]}


def test_a_control_law_in_torque_is_that_of_its_motor():
    """Eqs (12–15): at most U·D·k_t/R, less k_t²/R·q̇, of a voltage law, and k_t·I of a current law."""
    model = load_model("mx106", "m1")
    settings = replace(model.default_settings(8.0), supply_voltage=11.0)
    kt, resistance, limit = model.values["kt"], model.values["R"], model.control.output_limit
    law = torque_law(model, settings)
    assert law.limit == pytest.approx(11.0 * limit * kt / resistance)
    assert law.stiffness == pytest.approx(11.0 * kt / resistance * 8.0 * model.control.error_gain)
    assert (law.back_emf, law.no_load_speed) == pytest.approx((kt**2 / resistance, 11.0 * limit / kt))
    model = load_model("erob80_50", "m1")
    settings = replace(model.default_settings(50.0), supply_voltage=40.0)
    law, kt = torque_law(model, settings), model.values["kt"]
    assert law.limit == pytest.approx(kt * model.control.output_limit)
    assert law.stiffness == pytest.approx(kt * 50.0 * model.control.error_gain)
    assert (law.back_emf, law.no_load_speed) == (0.0, pytest.approx(40.0 / kt))


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
    what, values = fit_notes(found, "An engine", ["friction M6", "the bridge"])
    base = written.values["friction_base"]
    assert what == (
        "An engine cannot represent friction M6, the bridge. The export holds the best servo with "
        "Coulomb–viscous friction, "
        "refitted to the model's own motion."
    )
    assert values == f"Refitted: friction_base = {base:.6g}."


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
        "| as exported | 0.50 | 2.5 |",
        "| half load | 1.5 | 3.5 |",
    ]
    large = Check(how="run in an engine", errors={"lift_and_drop": 181.2})
    assert "| as exported | 181 |" in large.table


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


def test_notes_of_a_fleet_state_its_agreement_and_its_ranges(spread):
    native = NativeSpread(
        names=("friction", "armature"), nominal={}, units=np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0], [4.0, 8.0]]),
        draws=np.empty((0, 2)), ranges={"friction": (1.5, 4.0), "armature": (4.5, 6.5)},
    )  # fmt: skip
    prepared = Preparation(
        spread=spread, options=RandomisationOptions(draws=7), bench=BENCH, settings=spread.model.default_settings(),
        agreement=Agreement(ratio=0.875, covered=0.93, energy=0.125, spread=0.0125), names=(),
        draws=np.empty((0, 0)), units=np.empty((0, 0)),
    )  # fmt: skip
    full, own = [note for note in _notes(prepared, native) if note.startswith(("Full", "The engine's"))]
    assert full == (
        "Full specimens: motions of the draws have 0.88 times the spread of the units' (12.5 mrad), 93 % of the units' "
        "positions lie within the central 95 % of the draws', energy distance 0.12 (7 draws, 5 units, four "
        "trajectories)."
    )
    assert own == (
        "The engine's own parameters, each 95 % of the fleet, with the share of units inside: friction 1.5 … 4 (75 %), "
        "armature 4.5 … 6.5 (50 %); all at once 25 %. They include the uncertainty of the units' values."
    )
    more = replace(prepared, options=RandomisationOptions(draws=10_000))
    assert any(f"({COMPARED} draws, 5 units, " in note for note in _notes(more, native))


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
