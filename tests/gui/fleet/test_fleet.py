"""The parts of the Fleet task: what is read of a fleet, its table, its plots, its form. Fleets are simulated."""

import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent

from bench_gui.controller import Controller
from bench_gui.fleet.form import FleetForm
from bench_gui.fleet.parameter_plots import ParameterPlots
from bench_gui.fleet.reading import (
    LookJob,
    ReadJob,
    SeenSession,
    look,
    read,
    sessions_under,
    similar_order,
    summarise,
    unit_model,
)
from bench_gui.fleet.spread_tab import SpreadTab
from bench_gui.fleet.summary import FleetSummary, Mark, ModelSummary, ParameterSummary, TransferSummary, UnitSummary
from bench_gui.fleet.transfer_map import ALIKE, FLEET, GIVEN, OWN, RECEIVED, TransferMap, ordered
from bench_gui.fleet.units_tab import UnitsTab
from bench_gui.fleet.units_table import COLUMNS, HELD_OUT, MARK, TRAINING, UNIT
from bench_gui.headless.fleet.spreading import JudgedSpread
from core.base.units import DEGREES, RADIANS
from core.fleet.driver import FleetWatch, run_fleet
from core.fleet.local import PlainLoop
from core.fleet.plan import FleetRequest
from core.fleet.result import assembled
from core.fleet.store import FleetStore
from core.identification.request import IdentificationRequest
from core.servo.model import ServoModel
from core.servo.shipped import load_model
from sessions import Session
from tests.core.fleet import small
from tests.core.fleet.specimens import fleet as specimens
from tests.kept import kept


def two_units(folder):
    """A fleet of two units in its folder, of which the second lacks its M2."""
    plan, store = small.plan_of(2), FleetStore(folder / "fleet")
    run_fleet(plan, store, lambda: opened(PlainLoop(small.Load(2))), FleetWatch())
    (store.unit_folder("unit-002") / "fits" / f"{plan.chains[1].keys[1]}.json").unlink()


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    return Path(shutil.copytree(kept(two_units) / "fleet", tmp_path_factory.mktemp("fleet") / "fleet"))


class opened:
    """An executor that needs no opening."""

    def __init__(self, executor):
        self.executor = executor

    def __enter__(self):
        return self.executor

    def __exit__(self, *_):
        return None


def summary_of(count, *, unknown=(), marked=()):
    """A fleet of made-up units: k_t rises by 1 % of its first value from unit to unit, θ₀ is 0.01 rad everywhere."""
    units = tuple(
        UnitSummary(name=f"u{k:03d}", session=f"/lab/s{k:03d}", runs=8, tasks=3, done=2, best="m4")
        for k in range(count)
    )
    known = np.array([unit.name not in unknown for unit in units])
    rising = ParameterSummary(
        name="kt",
        symbol="k_t",
        unit="N·m/A",
        values=2.0 * (1.0 + 0.01 * np.arange(count)),
        half_widths=np.where(known, 0.02, math.inf),
        catalogue=1.9,
        share=True,
        centre=2.1,
        centre_half=0.2,
        between=0.03,
        between_interval=(0.02, 0.05),
        uncertainty=0.005,
        band=(1.95, 2.25),
        differs=True,
    )
    offset = ParameterSummary(
        name="q_offset",
        symbol="θ₀",
        unit="rad",
        values=np.full(count, 0.01),
        half_widths=np.full(count, 0.001),
        catalogue=0.0,
        centre=0.01,
        centre_half=0.001,
        between=0.002,
        between_interval=(0.001, 0.004),
        uncertainty=0.001,
        band=(0.006, 0.014),
    )
    marks = {name: (Mark(parameter="kt", text=f"{name}: k_t is twice the others'"),) for name in marked}
    model = ModelSummary(
        friction="m1",
        train=1e-3 * np.arange(count, 0, -1),
        validation=np.where(known, 2.5e-3, math.nan),
        parameters=(rising, offset),
        marks=marks,
    )
    errors = 0.02 + 0.001 * np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
    np.fill_diagonal(errors, 0.003)
    names = tuple(unit.name for unit in units)
    return FleetSummary(
        folder=Path("/lab/fleet"),
        request=FleetRequest(fit=IdentificationRequest(servo="mx106", models=("m1",))),
        units=units,
        models={"m1": model},
        recommended="m1",
        choice="M1 is recommended",
        transfer=TransferSummary(friction="m1", units=names, errors=errors, alike=similar_order(errors)),
    )


# What is read.


def test_a_summary_says_what_the_fleet_found(fleet):
    result, seen = FleetStore(fleet).result(), read(ReadJob(folder=fleet), None)
    assert (seen.servo, seen.done, seen.tasks) == ("mx106", 3, 4)
    assert [(unit.name, unit.done, unit.best) for unit in seen.units] == [("unit-001", 2, "m2"), ("unit-002", 1, "m1")]
    for friction, model in seen.models.items():
        for place, unit in enumerate(result.units):
            if friction not in unit.results:
                assert math.isnan(model.train[place])
                continue
            found = unit.results[friction]
            held_out = math.nan if found.validation_mae is None else found.validation_mae
            np.testing.assert_equal((model.train[place], model.validation[place]), (found.train_mae, held_out))
            for parameter in model.parameters:
                assert parameter.values[place] == found.model.values[parameter.name]
                half = found.evidence.of(parameter.name).half_width
                assert parameter.half_widths[place] == (half if math.isfinite(half) else math.inf)
                assert parameter.catalogue == load_model("mx106", friction).values[parameter.name]
        assert "at least 3" in model.note


def test_a_population_is_summed_up_with_its_outliers():
    units = specimens(12, {"kt": 0.05})
    odd = units[3]
    first = odd.results["m1"]
    model = first.model.with_values({"friction_viscous": 3.0 * first.model.values["friction_viscous"]})
    units[3] = replace(odd, results={"m1": replace(first, model=model)})
    result = replace(assembled(small.plan_of(1), {}), units=tuple(units))
    summary = summarise(replace(result, problems={units[2].facts.name: "too short"}), Path("/lab"))
    assert [unit.problem for unit in summary.units[:4]] == ["", "", "too short", ""]
    seen = summary.models["m1"]
    kt = next(p for p in seen.parameters if p.name == "kt")
    assert kt.share
    assert kt.differs
    assert kt.between_interval[0] < 0.05 < kt.between_interval[1]
    # Of logarithms: as far below the centre as above it, in shares.
    assert kt.band[0] * kt.band[1] == pytest.approx(kt.centre**2)
    assert list(seen.marks) == ["unit-004"]
    assert seen.marks["unit-004"][0].parameter == "friction_viscous"


def test_a_unit_has_a_model_file_before_all_its_fits_are_there(fleet):
    file = unit_model(fleet, "unit-002", "m1")
    assert ServoModel.read(file).values == FleetStore(fleet).result().units[1].results["m1"].model.values
    assert not file.with_name("m2.json").exists()


def test_similar_units_are_neighbours():
    """Two kinds of units that do well among themselves, mixed."""
    kind = np.array([0, 1, 0, 1, 1, 0])
    errors = np.where(kind[:, None] == kind[None, :], 0.004, 0.04)
    np.fill_diagonal(errors, 0.003)
    errors[0, 1] = math.inf
    in_order = kind[list(similar_order(errors))]
    assert np.count_nonzero(np.diff(in_order)) == 1


def test_units_are_put_in_order_by_their_errors():
    errors = np.array([[3.0, 9.0, 9.0], [5.0, 2.0, math.inf], [4.0, 4.0, 1.0]]) * 1e-3
    transfer = TransferSummary(friction="m1", units=("a", "b", "c"), errors=errors, alike=(1, 2, 0))
    assert ordered(transfer, FLEET) == [0, 1, 2]
    assert ordered(transfer, ALIKE) == [1, 2, 0]
    assert ordered(transfer, OWN) == [2, 1, 0]
    assert ordered(transfer, GIVEN) == [2, 0, 1], "row sums without the unit itself: 18, infinite, 8"
    assert ordered(transfer, RECEIVED) == [0, 1, 2], "column sums without the unit itself: 9, 13, infinite"


# Words and units.


def test_values_have_no_more_digits_than_their_intervals_and_follow_the_angle_unit():
    kt, offset = summary_of(3, unknown=("u001",)).models["m1"].parameters
    assert kt.value_in_words(0, RADIANS) == "2.000 ± 0.020 N·m/A"
    assert kt.value_in_words(1, RADIANS) == "2.0 N·m/A, not determined"
    assert kt.deviation_in_words(kt.between, DEGREES) == "3.0 %"
    assert offset.value_in_words(0, RADIANS) == "0.0100 ± 0.0010 rad"
    degrees = math.degrees(1.0)
    assert offset.value_in_words(0, DEGREES) == f"{0.01 * degrees:.3f} ± {0.001 * degrees:.3f} °"
    assert offset.deviation_in_words(0.002, DEGREES) == f"{0.002 * degrees:.2f} °"
    assert kt.median == 2.02, "of 2.00 and 2.04, which are determined"


# The table.


@pytest.fixture
def tab(qapp, qtbot):
    made = UnitsTab()
    qtbot.addWidget(made)
    made.resize(1000, 400)
    made.show()
    return made


def shown(tab, column):
    return [tab.order.index(row, column).data() for row in range(tab.order.rowCount())]


def test_the_table_sorts_by_numbers_and_filters_by_text(tab):
    tab.show_model(summary_of(12, unknown=("u003",), marked=("u005",)), "m1")
    assert shown(tab, UNIT)[0] == "u000"
    tab.view.sortByColumn(TRAINING, Qt.SortOrder.AscendingOrder)
    assert shown(tab, UNIT)[0] == "u011", "1 mrad; by their texts 10.0 would come before 2.00"
    assert shown(tab, UNIT)[-1] == "u000"
    tab.view.sortByColumn(HELD_OUT, Qt.SortOrder.AscendingOrder)
    assert shown(tab, UNIT)[-1] == "u003", "what is unknown comes last"
    tab.filter.setText("outlier")
    assert shown(tab, UNIT) == ["u005"]
    assert tab.count.text() == "1 of 12 units"
    assert shown(tab, MARK) == ["outlier in k_t"]
    tab.select("u005")
    assert "twice the others'" in tab.reason.text()
    tab.filter.setText("")
    assert tab.selected == "u005", "what is chosen stays chosen"
    tab.select("u000")
    assert tab.reason.text() == "So far: M1 is recommended"
    whole = summary_of(2)
    tab.show_model(replace(whole, units=tuple(replace(unit, done=unit.tasks) for unit in whole.units)), "m1")
    assert tab.reason.text() == "All units: M1 is recommended"


def test_a_unit_s_facts_stand_below_their_headings(tab):
    """Also those of one without its damaged runs, and of one that cannot be fitted."""
    summary = summary_of(3, marked=("u001",))
    first, second, third = summary.units
    lost = replace(first, damage="1 of 9 runs cannot be read and is left out: x.h5: the file is damaged")
    bad = replace(third, best="", done=0, problem="every run is too short")
    model = replace(summary.models["m1"], train=np.array([3e-3, 2e-3, math.nan]))
    tab.show_model(replace(summary, units=(lost, second, bad), models={"m1": model}), "m1")
    titles = [column.title for column in COLUMNS]
    assert [dict(zip(titles, (cell.text for cell in row), strict=True)) for row in tab.table.rows] == [
        {"Unit": unit, "Session": f"s{unit[1:]}", "Runs": "8", "Fits": fits, "Best": best, "Training [mrad]": train,
         "Held out [mrad]": "2.50", "Mark": mark}
        for unit, fits, best, train, mark in (
            ("u000", "2/3", "M4", "3.00", "damaged runs ignored"),
            ("u001", "2/3", "M4", "2.00", "outlier in k_t"),
            ("u002", "0/3", "–", "–", "cannot be fitted"),
        )
    ]  # fmt: skip
    for unit, why in (("u000", lost.damage), ("u001", "twice the others'"), ("u002", bad.problem)):
        tab.select(unit)
        assert why in tab.reason.text()
    tab.view.sortByColumn(TRAINING, Qt.SortOrder.AscendingOrder)
    assert shown(tab, UNIT) == ["u001", "u000", "u002"], "what is unknown comes last"


def test_a_spread_s_numbers_stand_below_their_headings(qtbot, monkeypatch, tmp_path):
    """Deviations of k_t in shares, those of an angle in the unit of the window."""
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path))
    controller = Controller("simulated:mx106")
    made = SpreadTab(controller)
    qtbot.addWidget(made)
    controller.set_angle_unit(DEGREES)
    summary = summary_of(4, unknown=("u002",))
    made.show_model(summary, summary.models["m1"])
    kt, offset = (dict(zip(made.contents().headings, row, strict=True)) for row in made.contents().rows)
    assert kt == {
        **{
            "Parameter": "torque constant",
            "Symbol": "k_t",
            "Centre": "2.10",
            "Unit": "N·m/A",
            "Between units": "3.0 %",
            "Catalogue": "1.90",
        },
        **{"95 % interval": "2.0 … 5.0 %", "Uncertainty": "0.50 %", "Determined": "3 of 4"},
    }
    said = {name: offset[name] for name in ("Centre", "Unit", "Between units", "95 % interval", "Uncertainty")}
    assert said == {
        **{"Centre": "0.573", "Unit": "°", "Between units": "0.11 °", "95 % interval": "0.057 … 0.23 °"},
        "Uncertainty": "0.057 °",
    }
    assert [row[4].bold for row in made.table.rows] == [True, False], "angles do not differ by more than they may"
    errors = {"own model": 0.002, "mean model": 0.003, "catalogue": 0.007}
    made._take_judgement(JudgedSpread(folder=summary.folder, friction="m1", errors=errors, text="fine", together=""))
    assert made.verdict.text() == "The mean model has not been scored on the units' recordings yet.", "not asked for"
    made._asked = made._state
    made._take_judgement(JudgedSpread(folder=summary.folder, friction="m1", errors=errors, text="fine", together="a"))
    assert (made.verdict.text(), made.together.text()) == ("Fine.", "Correlated over the units: a.")
    panel = made.bars.panel
    assert (panel.groups, panel.series[0].name) == (tuple(errors), "M1")
    assert panel.series[0].values == pytest.approx((2.0, 3.0, 7.0))
    controller.close()


def test_parameters_come_in_columns_on_demand(tab):
    summary = summary_of(4, unknown=("u002",))
    tab.show_model(summary, "m1")
    assert tab.table.columnCount() == len(COLUMNS)
    tab.select("u002")
    tab.parameters.setChecked(True)
    titles = [tab.table.headerData(place, Qt.Orientation.Horizontal) for place in range(tab.table.columnCount())]
    assert titles[-2:] == ["k_t [N·m/A]", "θ₀ [rad]"]
    assert shown(tab, len(titles) - 2) == ["2.000 ± 0.020", "2.020 ± 0.020", "2.0, not determined", "2.060 ± 0.020"]
    tab.set_unit(DEGREES)
    assert tab.table.headerData(len(titles) - 1, Qt.Orientation.Horizontal) == "θ₀ [°]"
    assert tab.selected == "u002"
    numbers = tab.table.contents()
    row = dict(zip(numbers.headings, numbers.rows[3], strict=True))
    assert row["kt [N·m/A]"] == 2.06
    assert row["kt half width of 95 % [N·m/A]"] == 0.02
    assert row["Training [mrad]"] == pytest.approx(1.0)


def test_a_table_that_fills_keeps_what_is_chosen(tab, qtbot):
    before = summary_of(5)
    tab.show_model(before, "m1")
    tab.select("u003")
    tab.show_model(replace(before, units=tuple(replace(unit, done=1) for unit in before.units)), "m1")
    assert tab.selected == "u003"
    assert tab.view.currentIndex().data() == "u003"
    with qtbot.waitSignal(tab.opened) as asked:
        tab.open_button.click()
    assert asked.args == ["u003"]


# The plots.


@pytest.fixture
def plots(qapp, qtbot):
    made = ParameterPlots()
    qtbot.addWidget(made)
    made.resize(900, 500)
    made.show()
    return made


def test_a_point_below_the_mouse_names_its_unit(plots, qtbot):
    summary = summary_of(200, marked=("u150",))
    plots.show_model(summary, summary.models["m1"], RADIANS)
    qtbot.wait(1)
    strip = plots.shown[0]
    for place in (0, 77, 150, 199):
        at = strip.chart.view.mapViewToScene(QPointF(place + 1.0, summary.models["m1"].parameters[0].values[place]))
        assert strip.unit_at(at) == f"u{place:03d}"
    assert strip.unit_at(QPointF(-500.0, -500.0)) == ""
    assert strip.words_of("u150") == "u150: k_t = 5.000 ± 0.020 N·m/A"
    at = strip.chart.mapFromScene(strip.chart.view.mapViewToScene(QPointF(78.0, 2.0 * 1.77)))
    with qtbot.waitSignal(plots.chosen) as clicked:
        qtbot.mouseClick(strip.chart.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert clicked.args == ["u077"]


def test_plots_hold_values_intervals_spread_and_catalogue(plots):
    summary = summary_of(9, unknown=("u004",), marked=("u006",))
    plots.show_model(summary, summary.models["m1"], RADIANS)
    strip = plots.shown[0]
    curves = {curve.name: curve for curve in strip.chart.seen()}
    kt = summary.models["m1"].parameters[0]
    assert set(curves["catalogue"].y) == {1.9}
    assert set(curves["median"].y) == {kt.median}
    np.testing.assert_array_equal(curves["not determined"].x, [5.0])
    np.testing.assert_array_equal(curves["outlier"].x, [7.0])
    ends = curves["95 % interval"].y.reshape(-1, 3)
    np.testing.assert_allclose(ends[:, 1] - ends[:, 0], 2 * 0.02)
    assert len(ends) == 8, "one has no interval"
    (area,) = strip.chart.seen_areas()
    assert (area.low[0], area.high[0]) == kt.band
    low, high = strip.y_range()
    assert low < 1.9
    assert high > kt.values.max() + 0.02


def test_an_interval_that_says_little_does_not_hide_the_values(plots):
    summary = summary_of(9)
    model = summary.models["m1"]
    kt = replace(model.parameters[0], half_widths=np.array([50.0, *[0.02] * 8]))
    plots.show_model(summary, replace(model, parameters=(kt,)), RADIANS)
    low, high = plots.shown[0].y_range()
    span = 2.25 - 1.9
    assert high - low < 4.0 * span
    assert len(plots.shown) == 1


def test_angles_are_plotted_in_the_chosen_unit(plots):
    summary = summary_of(3)
    plots.show_model(summary, summary.models["m1"], DEGREES)
    kt, offset = plots.shown
    assert (kt.chart.left[1], offset.chart.left[1]) == ("N·m/A", "°")
    assert {curve.name: curve for curve in offset.chart.seen()}["median"].y[0] == pytest.approx(math.degrees(0.01))


# The map.


@pytest.fixture
def transfer(qapp, qtbot):
    made = TransferMap()
    qtbot.addWidget(made)
    made.resize(700, 500)
    made.show()
    return made


def test_two_hundred_units_fit_into_the_map_and_each_cell_can_be_read(transfer, qtbot):
    found = summary_of(200).transfer
    transfer.show_transfer(found, FLEET)
    assert not transfer.grab().isNull()
    assert transfer.words_of(0, 0) == "u000: 3.00 mrad with its own model"
    assert transfer.words_of(3, 13) == "Model of u003 on the runs of u013: 30.0 mrad"
    chosen = []
    transfer.chosen.connect(chosen.append)
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Up):
        qtbot.keyClick(transfer, key)
    assert (transfer.cell, chosen) == ((0, 1), ["u001", "u001", "u000", "u000"])
    assert transfer.accessibleDescription() == "Model of u000 on the runs of u001: 21.0 mrad"


def test_the_map_keeps_its_unit_when_the_order_changes_and_says_where_a_model_diverges(transfer):
    errors = np.array([[3.0, 9.0, math.inf], [5.0, 2.0, 5.0], [4.0, 4.0, 1.0]]) * 1e-3
    found = TransferSummary(friction="m1", units=("a", "b", "c"), errors=errors, alike=(0, 1, 2))
    transfer.show_transfer(found, FLEET)
    assert transfer.words_of(0, 2).endswith("diverges")
    transfer.select("a")
    transfer.show_transfer(found, OWN)
    assert transfer.unit(transfer.cell[0]) == "a"
    panel = transfer.panel()
    assert panel.rows == ("c", "b", "a")
    assert math.isnan(panel.values[2, 0])
    assert panel.values[0, 0] == pytest.approx(1.0)


# The form.


@pytest.fixture
def form(qapp, qtbot, monkeypatch, tmp_path):
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path / "home"))
    made = FleetForm()
    qtbot.addWidget(made)
    made.show()
    made.look_wanted.connect(lambda sessions: made.show_seen(look(LookJob(sessions=sessions), None)))
    return made


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Two sessions of a unit each, an empty one, and a folder that is none."""
    folder = tmp_path_factory.mktemp("lab")
    for unit in small.units(2):
        Session.create(folder / "units" / unit.name, unit.name).add_all(unit.recordings)
    Session.create(folder / "empty", "empty")
    (folder / "nothing").mkdir()
    return folder


def test_a_folder_of_sessions_stands_for_those_in_it(form, lab):
    assert sessions_under(lab / "units") == [lab / "units" / "unit-001", lab / "units" / "unit-002"]
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(lab / "units"))])
    keys = (Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
    form.sessions.dropEvent(QDropEvent(QPoint(5, 5), Qt.DropAction.CopyAction, data, *keys))
    assert form.found.text() == "Dynamixel MX-106: 2 units, 8 runs"
    assert form.obstacle == ""
    job = form.job()
    assert (job.servo, job.sessions, job.simulated) == ("mx106", form.sessions.sessions, 0)
    assert job.folder == lab / "units" / "fleet_mx106", "beside the sessions"
    assert not form.by.choices["length"].isEnabled(), "every run has the same length"
    assert form.by.choices["mass"].isEnabled()
    form.sessions.item(0).setSelected(True)
    form.remove_button.click()
    assert [path.name for path in form.sessions.sessions] == ["unit-002"]


@pytest.mark.parametrize(
    ("name", "words"), [("empty", "no runs yet"), ("nothing", "no session"), ("missing", "no such session")]
)
def test_what_is_no_session_is_refused_at_the_list(form, lab, name, words):
    form.sessions.add([lab / name])
    assert words in form.units_problem.text()
    assert form.units_problem.isVisible()
    assert words in form.obstacle
    form.sessions.item(0).setSelected(True)
    form.sessions.remove_chosen()
    assert not form.units_problem.isVisible()
    assert "add some" in form.obstacle


def test_the_servo_of_most_units_is_offered_first_and_the_others_are_counted(form):
    seen = (
        SeenSession(path=Path("/lab/a"), units=(("mx106", "a", 3), ("xl330", "b", 4), ("xl330", "c", 5))),
        SeenSession(path=Path("/lab/d"), units=(("xl330", "d", 6),), conditions=("length",)),
    )
    form.sessions.set_sessions(tuple(one.path for one in seen))
    form.show_seen(seen)
    assert [form.servo.itemData(place) for place in range(form.servo.count())] == ["mx106", "xl330"]
    assert form.servo.currentData() == form.job().servo == "xl330"
    assert form.found.text() == "Dynamixel XL330-M288: 3 units, 15 runs; 1 of other servos ignored"
    assert [key for key, box in form.by.choices.items() if box.isEnabled()] == ["length"]
    form.servo.setCurrentIndex(0)
    assert form.found.text() == "Dynamixel MX-106: 1 unit, 3 runs; 3 of other servos ignored"


def test_a_session_with_a_damaged_run_says_so_in_the_list(form, lab, tmp_path):
    place = Path(shutil.copytree(lab / "units" / "unit-001", tmp_path / "decayed"))
    first, *others = sorted((place / "runs").glob("*.h5"))
    first.write_bytes(first.read_bytes()[:3000])
    form.sessions.add([place])
    [item] = [form.sessions.item(row) for row in range(form.sessions.count())]
    assert item.text() == f"decayed: {len(others)} runs, damaged runs ignored"
    assert f"1 of {len(others) + 1} runs cannot be read and is left out: {first}" in item.toolTip()
    assert form.obstacle == ""
    for run in others:
        run.unlink()
    (found,) = look(LookJob(sessions=(place,)), None)
    assert found.problem.startswith(f"1 of 1 run cannot be read and is left out: {first}")


def test_wrong_settings_are_refused_at_their_fields(form, tmp_path):
    form.try_simulated()
    assert form.obstacle == ""
    assert form.job().simulated == 8
    assert form.job().fit.command_path == ()
    for address in ("10.0.0.5", "tcp://host", "http://host:80", "tcp://ho st:1"):
        form.scheduler.setText(address)
        assert "tcp://10.0.0.5:8786" in form.computing_problem.text()
        assert form.computing_problem.isVisible()
        assert form.obstacle
    for address in ("tcp://10.0.0.5:8786", "tls://lab.example:8786", "tcp://[fe80::1]:1"):
        form.scheduler.setText(address)
        assert form.obstacle == ""
        assert form.job().scheduler == address
    assert not form.workers.isEnabled(), "the scheduler has its own"
    form.scheduler.setText("")
    form.models.check(())
    assert form.fits_problem.text() == "No model is chosen: check at least one"
    form.models.check(("m1",))
    (tmp_path / "file").write_text("")
    form.set_folder(tmp_path / "file")
    assert form.folder_problem.text() == "File is a file: choose a folder"
    Session.create(tmp_path / "lab", "lab")
    form.set_folder(tmp_path / "lab")
    assert "is a session" in form.folder_problem.text()


def test_an_opened_fleet_is_asked_for_again_as_it_was(form, fleet, lab):
    """The same request and runs give the same keys, so that Start computes only what is missing."""
    seen = read(ReadJob(folder=fleet), None)
    fit = replace(seen.request.fit, prior=0.01, frozen=(("R", 2.0),))
    form.suit(replace(seen, request=FleetRequest(fit=fit, by=("mass",))))
    form.sessions.set_sessions((lab / "units" / "unit-001",))
    job = form.job()
    assert job.request.fit == fit
    assert job.request.by == ("mass",)
    assert job.folder == fleet
    assert "only the missing fits" in form.resumes.text()
