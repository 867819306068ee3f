"""`bench spread`: a fleet in words, in a file, and for engines; the numbers themselves are tested in core."""

from dataclasses import replace

import numpy as np
import pytest

from bench_gui.cli import main
from bench_gui.headless.fleet import gather
from bench_gui.headless.fleet.gather import gather_units, load_unit, simulated_sessions
from core.base.errors import InputError
from core.fleet.plan import FleetRequest, UnitFacts, make_plan
from core.fleet.spread import Spread
from core.fleet.store import FleetStore
from core.identification.request import IdentificationRequest
from tests.core.fleet.specimens import unit


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A fleet of four simulated units whose fits are given: the last has three times the others' viscous friction."""
    place = tmp_path_factory.mktemp("fleet")
    facts = gather_units(simulated_sessions("mx106", 4, place / "sessions"))
    request = IdentificationRequest(servo="mx106", models=("m1",), validation="none")
    plan = make_plan(FleetRequest(fit=request), facts, load_unit)
    store = FleetStore(place / "fleet")
    store.write_plan(plan)
    for number, chain in enumerate(plan.chains):
        values = {"kt": 2.2 * (1.0 + 0.02 * number), "friction_viscous": 0.05 * (1.0 + 0.001 * number)}
        if number == 3:
            values["friction_viscous"] = 0.15
        result = unit(chain.unit, values, {"friction_viscous": 1e-5}).results["m1"]
        store.put(chain, chain.keys[0], replace(result, wall_seconds=0.1))
    return place / "fleet"


def test_it_says_how_units_differ_who_is_unlike_them_and_what_the_mean_is_worth(folder, bench):
    told = bench("spread", folder).out
    assert "mx106 M1, 4 units" in told
    assert "differ" in told
    assert "the mean model" in told
    assert "outlier: unit-004: K_v = 0.15 N·m·s/rad" in told


def test_the_file_holds_the_spread(folder, tmp_path, bench):
    told = bench("spread", folder, "--friction-model", "m1", "-o", tmp_path, "--json").data
    assert told["files"] == [str(tmp_path / "spread.json")]
    assert told["outliers"][0]["unit"] == "unit-004"
    read = Spread.read(tmp_path / "spread.json")
    assert read.population.units == ("unit-001", "unit-002", "unit-003", "unit-004")
    np.testing.assert_allclose(read.population.of("kt").values, 2.2 * (1.0 + 0.02 * np.arange(4)))
    assert read.errors is not None


def test_an_engines_files_are_written(folder, tmp_path, bench):
    told = bench("spread", folder, "-t", "mujoco", "--draws", "5", "-o", tmp_path).out
    assert "of the units inside" in told
    assert "motions of the draws have" in told
    assert list((tmp_path / "mujoco").glob("*.fleet.json"))


def test_without_recordings_the_mean_is_taken_unjudged(folder, bench):
    store = FleetStore(folder)
    plan = store.read_plan()
    away = tuple(replace(u, source=f"{u.source}-moved-away") for u in plan.units)
    try:
        store.write_plan(replace(plan, units=away))
        said = bench("spread", folder).out
    finally:
        store.write_plan(plan)
    assert "was not evaluated; the units' recordings cannot be read" in said


def test_what_cannot_be_is_one_line(folder, tmp_path, fails):
    assert "no fleet" in fails("spread", tmp_path)
    assert "at least 3" in fails("spread", folder, "--friction-model", "m6")
    with pytest.raises(SystemExit):
        main(["spread", str(folder), "-t", "unity"])


def test_units_of_one_name_are_told_apart_by_their_sessions(monkeypatch):
    """Two sessions with a unit of the same name, one of another servo, and a choice of one servo."""
    held = {"/a/mon.h5": ("unit", "mx106"), "/b/mon day": ("unit", "mx106"), "/c/tue": ("unit", "xl330")}

    def units_of(path, servo):
        name, kind = held[str(path)]
        facts = UnitFacts(name=name, servo=kind, source=str(path), runs=("0001",), data_hash="0")
        return [facts] if servo in (None, kind) else []

    monkeypatch.setattr(gather, "_units_of", units_of)
    first, second, other = held
    assert [unit.name for unit in gather_units([first, first])] == ["unit"]
    found = gather_units([first, second])
    assert [(unit.name, unit.source) for unit in found] == [("unit_mon_1", first), ("unit_mon_day_2", second)]
    with pytest.raises(InputError, match="of several servos: mx106, xl330; choose one with --servo"):
        gather_units([first, other])
    assert [unit.servo for unit in gather_units([first, other], "xl330")] == ["xl330"]
    with pytest.raises(InputError, match="no session has runs of mx64 to fit"):
        gather_units([first, other], "mx64")


@pytest.mark.parametrize(
    ("name", "folder"),
    [("SN-7/8", "SN-7_8"), ("a  b", "a_b"), ("..", "unit"), ("_x_.", "x"), ("y" * 90, "y" * 80), ("Ä.1", "Ä.1")],
)
def test_a_unit_s_name_becomes_one_of_a_folder(name, folder):
    assert gather._safe(name) == folder
