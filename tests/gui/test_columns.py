"""Columns of the tables by their headings, each with a number that no other column has. No window, no servo."""

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtCore import QObject, Qt, Signal

from bench_gui.headless.report.parameters import _bar
from bench_gui.identify.answer.ladder import BAR_COLUMN, Ladder
from bench_gui.identify.certainty import panel as certainty_panel
from bench_gui.identify.coverage import panel as coverage_panel
from bench_gui.identify.crossvalidation import tables as crossvalidation_tables
from bench_gui.identify.fit.messages import FittedModel
from bench_gui.identify.tables import FOREST_COLUMN, CostHistory, ParameterTable, ResultTable
from bench_gui.session.runs.table import USED_ROLE, RunTable
from bench_gui.widgets.tables import TablesInTurn
from bench_gui.widgets.text_table import VALUE_ROLE, Column
from core.identification.choice.model_choice import CrossValidation, Estimate, FoldFit, Variant
from core.identification.choice.repeatability import FloorRow
from core.identification.choice.terms import Term, TermCost, TermCosts
from core.identification.choice.transfer import TransferTable
from core.identification.evidence.certainty import ParameterCertainty
from core.identification.evidence.model import Evidence, ParameterEvidence
from core.identification.runs.folds import Fold
from core.servo.shipped import load_model
from sessions import Annotation
from sessions.results.crossvalidating import CrossValidated
from tests.gui.test_forms import RUN

HALF_WIDTH = 0.05
NORMAL_95 = 1.959964


def row_of(table, row):
    """Texts of a row by heading."""
    titles = [table.headerData(place, Qt.Orientation.Horizontal) for place in range(table.columnCount())]
    assert len(set(titles)) == len(titles)
    return {title: table.index(row, place).data() for place, title in enumerate(titles)}


def by_heading(columns, row):
    """Texts of a row of cells by heading."""
    cells = [cell if isinstance(cell, str) else cell.text for cell in row]
    return dict(zip([column.title for column in columns], cells, strict=True))


def fitted(friction, train, validation, rmse, spread, evaluations, seconds):
    return FittedModel(load_model("mx106", friction), train, validation, rmse, evaluations, seconds, spread)


def known(parameter, **changes):
    return ParameterEvidence(
        **{
            **{"name": parameter.name, "symbol": parameter.symbol, "unit": parameter.unit, "value": parameter.value},
            **{"initial": 1.25, "lower": parameter.lower, "upper": parameter.upper, "frozen": False, "at_bound": ""},
            **{"standard_error": HALF_WIDTH / NORMAL_95},
            **changes,
        }
    )


ROWS = (
    fitted("m1", 0.0111, 0.0222, 0.0333, 0.0044, 12345, 75.0),
    fitted("m2", 0.0091, 0.0152, 0.0263, None, 77, math.nan),
    fitted("m3", 0.0081, None, None, 0.0001, 88, 5.0),
)


def test_a_model_s_errors_stand_below_their_headings(qapp):
    ladder = Ladder()
    ladder.set_rows(ROWS, "m2")
    ladder.set_current("m1")
    shown = row_of(ladder, 1)
    assert (shown["Model"], shown["Training [mrad]"], shown["Held out [mrad]"]) == ("M1  ●", "11.1", "22.2")
    shown = row_of(ladder, 0)
    assert (shown["Model"], shown["Training [mrad]"], shown["Held out [mrad]"]) == ("M2  ★", "9.10", "15.2")
    drawn = ladder.data(ladder.index(1, BAR_COLUMN), VALUE_ROLE)
    assert (drawn.held_out, drawn.training, drawn.scale) == (0.0222, 0.0111, 0.0222)


@pytest.mark.parametrize("recommended", ["m1", "m2", "m3", ""])
def test_the_recommended_model_is_the_first_row(qapp, recommended):
    """A low window, as at a scale factor of 2, cuts the last rows: the answer must not be one of them."""
    ladder = Ladder()
    ladder.set_rows(ROWS, recommended)
    order = [ladder.row(place).model.friction for place in range(ladder.rowCount())]
    assert order == sorted(["m1", "m2", "m3"], key=lambda friction: friction != recommended)
    assert ladder.recommended_row == (0 if recommended else -1)


def test_a_search_under_way_has_a_cost_and_no_training_error(qapp):
    """What a search makes small may hold placed points, and is no error of the runs."""
    ladder = Ladder()
    ladder.set_rows(ROWS[:1], "")
    assert "Training [mrad]" not in row_of(ladder, 0)
    assert row_of(ladder, 0)["Cost [mrad]"] == "11.1"
    ladder.set_rows(ROWS[:1], "m1")
    assert row_of(ladder, 0)["Training [mrad]"] == "11.1"


def test_the_figures_of_a_model_stand_below_their_headings(qapp):
    table = ResultTable()
    table.set_rows(ROWS, "m2", "m1")
    assert row_of(table, 0) == {
        **{"Model": "M1  ●", "RMSE [mrad]": "33.3", "Δ [mrad]": "+7.00", "Repeats [mrad]": "4.40"},
        **{"Evaluations": "12 345  75 s"},
    }
    assert row_of(table, 1) == {
        **{"Model": "M2  ★", "RMSE [mrad]": "26.3", "Δ [mrad]": "0", "Repeats [mrad]": "–", "Evaluations": "77"},
    }


def test_a_parameter_s_numbers_stand_below_their_headings(qapp):
    base = next(iter(load_model("mx106", "m1").parameters.values()))
    parameter = replace(base, value=2.0, lower=1.0, upper=5.0, frozen=False)
    table = ParameterTable()
    evidence = Evidence(parameters=(known(parameter),), conditions=(), noise=0.001, samples=100, independent=10.0)
    table.set_parameters([parameter], evidence)
    assert row_of(table, 0) == {
        **{"Symbol": base.symbol, "Value": "2.000", "± 95 %": "0.050", "Start value": "1.250"},
        **{"Unit": base.unit, "Inside its bounds": "", "Compared": "–", "Notes": "good"},
        **{"Parameter": base.description.partition(",")[0]},
    }
    drawn = table.index(0, FOREST_COLUMN).data(VALUE_ROLE)
    assert [drawn.share(value) for value in (drawn.value, drawn.start)] == [0.25, 0.0625]
    assert drawn.intervals == (pytest.approx((1.95, 2.05)),)
    open_ = replace(evidence, parameters=(known(parameter, standard_error=math.inf),))
    frozen = replace(evidence, parameters=(known(parameter, frozen=True, standard_error=math.nan),))
    table.set_parameters([parameter], open_)
    assert row_of(table, 0)["± 95 %"] == "∞"
    table.set_parameters([replace(parameter, frozen=True)], frozen)
    assert (row_of(table, 0)["± 95 %"], row_of(table, 0)["Notes"]) == ("–", "frozen")


def test_a_bar_of_the_report_lies_where_the_interval_lies():
    """1.9 … 2.1 of 1 … 5 begins at 22.5 % and is 5 % wide; what began at 1.25 began at 6.25 %."""
    parameter = replace(next(iter(load_model("mx106", "m1").parameters.values())), value=2.0, lower=1.0, upper=5.0)
    bar = _bar(known(parameter, standard_error=0.1 / NORMAL_95))
    assert (bar.left, bar.width, bar.value, bar.start, bar.open) == (22.5, 5.0, 25.0, 6.25, False)


def test_costs_are_logarithms_of_milliradians():
    history = CostHistory()
    history.add("m1", 0, ((10, 0.1), (20, 0.01), (30, math.inf)))
    assert history.curves["m1", 0] == ([10.0, 20.0], [2.0, 1.0])


# A cross-validation.

MODEL = {name: load_model("mx106", name) for name in ("m1", "m4")}
RUNS = ("0001", "0002", "0003")
FOLDS = (
    Fold(condition="mass", value=0.5, train=RUNS[1:], held_out=RUNS[:1]),
    Fold(condition="mass", value=1.0, train=RUNS[:1], held_out=RUNS[1:]),
)
WITHOUT, WITH = Variant(friction="m1"), Variant(friction="m1", command_path=("command_delay",))
RICHER = Variant(friction="m4")
ERRORS = {
    WITHOUT: ({"0001": 0.041}, {"0002": 0.052, "0003": 0.054}),
    WITH: ({"0001": 0.011}, {"0002": 0.012, "0003": 0.014}),
    RICHER: ({"0001": 0.021}, {"0002": 0.022, "0003": 0.024}),
}


def cost(title, training, held_out):
    return TermCost(term=Term(name=title, title=title), parameters=(), training=training, held_out=held_out)


KEPT = CrossValidated(
    folder=Path("/lab"),
    found=CrossValidation(
        fits=tuple(
            FoldFit(
                variant=variant,
                fold=fold,
                model=MODEL[variant.friction],
                train_mae=0.009,
                trained_on=fold.train,
                evaluations=10,
                errors=errors,
            )
            for variant, both in ERRORS.items()
            for fold, errors in zip(FOLDS, both, strict=True)
        )
    ),
    transfers=(
        TransferTable(
            condition="mass",
            variant="M1",
            values=(0.5, 1.0),
            runs=(1, 2),
            errors=np.array([[0.0011, 0.0022], [0.0033, 0.0044]]),
        ),
    ),
    terms=TermCosts(
        train_mae=0.01,
        held_out_mae=0.02,
        terms=(
            cost("Delay", 0.0012, Estimate(mean=-0.0034, standard_error=0.0005, runs=2, folds=1)),
            cost("Lag", -0.0021, None),
        ),
    ),
    floors=(
        FloorRow(trajectory="sin_sin", repetitions=3, runs=6, pairs=3, floor=0.0021, difference=0.1, error=0.0063),
        FloorRow(trajectory="", repetitions=4, runs=8, pairs=4, floor=0.0031, difference=0.1, error=0.0124),
    ),
)


def rows_of(made):
    columns, rows = made
    return [by_heading(columns, row) for row in rows]


def test_held_out_errors_stand_in_the_column_of_their_command_path():
    found = KEPT.found
    plain, path, richer = (found.error(variant) for variant in ERRORS)
    first, second = rows_of(crossvalidation_tables.by_model(KEPT))

    def said(estimate):
        return f"{1e3 * estimate.mean:.1f} ± {1e3 * estimate.standard_error:.2f}"

    assert first["Model"] == "M1  ★"
    assert first["Without it [mrad]"].split()[0] == f"{1e3 * plain.mean:.1f}"
    assert first["With command path [mrad]"] == f"{said(path)}  ★"
    assert first["Δ with [mrad]"] == "best"
    behind = found.difference(WITHOUT, WITH)
    assert first["Δ without [mrad]"].split()[0] == f"+{1e3 * behind.mean:.1f}"
    assert second["Model"] == "M4"
    assert second["Without it [mrad]"].split()[0] == f"{1e3 * richer.mean:.1f}"
    assert (second["With command path [mrad]"], second["Δ with [mrad]"]) == ("–", "–")


def test_folds_stand_below_what_was_held_out():
    columns, rows = crossvalidation_tables.by_fold(KEPT)
    assert by_heading(columns, rows[0]) == {"Held out [mrad]": WITHOUT.name, "0.5 kg": "41.0", "1 kg": "53.0"}
    assert by_heading(columns, rows[1]) == {"Held out [mrad]": f"{WITH.name}  ★", "0.5 kg": "11.0", "1 kg": "13.0"}
    assert [column.tip for column in columns[1:]] == [
        "1 run held out, fitted to 2 runs",
        "2 runs held out, fitted to 1 run",
    ]


def test_terms_transfer_and_floors_stand_below_their_headings():
    assert rows_of(crossvalidation_tables.by_term(KEPT)) == [
        {"Without": "Delay", "Training [mrad]": "+1.20", "Held out [mrad]": "−3.40 ± 0.50"},
        {"Without": "Lag", "Training [mrad]": "−2.10", "Held out [mrad]": "–"},
    ]
    heading = "Fitted to \\ on, mass [mrad]"
    assert rows_of(crossvalidation_tables.by_value(KEPT.transfers[0])) == [
        {heading: "0.5 kg", "0.5 kg": "1.10", "1 kg": "2.20"},
        {heading: "1 kg", "0.5 kg": "3.30", "1 kg": "4.40"},
    ]
    floor, model, times = "Floor [mrad]", "Model [mrad]", "Times the floor"
    assert rows_of(crossvalidation_tables.by_repetition(KEPT)) == [
        {"Repetitions of": "sin_sin", "Sets": "3", floor: "2.10", model: "6.30", times: "3.0"},
        {"Repetitions of": "all", "Sets": "4", floor: "3.10", model: "12.4", times: "4.0"},
    ]


def test_intervals_of_a_certainty_stand_below_their_headings():
    part = ParameterCertainty(
        name="kt", symbol="k_t", unit="N·m/A", value=1.5, half_width=0.025, lowest=0.1, highest=9.0,
        profile=None, spread=None,
    )  # fmt: skip
    found = by_heading(certainty_panel._COLUMNS, certainty_panel._row(part))
    assert found == {
        **{"Parameter": "torque constant", "Symbol": "k_t", "Value": "1.500", "Unit": "N·m/A", "± 95 %": "0.025"},
        **{"Profile 95 %": "–", "Bootstrap 95 %": "–", "Remarks": "; ".join(part.remarks)},
    }
    said = replace(part, half_width=math.inf)
    object.__setattr__(said, "profile", SimpleNamespace(text="1.4 … 1.6", lower=None, upper=None, better=None))
    object.__setattr__(said, "spread", SimpleNamespace(text="1.3 … 1.7"))
    cells = certainty_panel._row(SimpleNamespace(**vars(said), grade=said.grade, remarks=("open",), contradiction=""))
    found = by_heading(certainty_panel._COLUMNS, cells)
    assert (found["± 95 %"], found["Profile 95 %"], found["Bootstrap 95 %"]) == ("∞", "1.4 … 1.6", "1.3 … 1.7")


# The coverage.


def coverage_columns(name):
    return next(columns for title, _, columns in coverage_panel._TABLES if title == name)


def test_what_runs_contain_stands_below_its_heading():
    shares = {"speed_share": 0.31, "load_share": 0.42, "saturated_share": 0.053, "released_share": 0.64}
    row = coverage_panel._motion({"run": "0007_sin_sin", "reversals": 8, "breakaways": 9, **shares})
    assert by_heading(coverage_columns("Motion"), row) == {
        **{"Run": "0007 sin_sin", "Speed [%]": "31", "Load [%]": "42", "Reversals": "8", "Breakaways": "9"},
        **{"At limit [%]": "5.3", "Released [%]": "64"},
    }
    lags = {"step": 0.005, "jitter": 0.00025, "command_lag": 0.017, "velocity_lag": 0.028, "encoder_step": 0.0015}
    row = coverage_panel._timing({"run": "0007_sin_sin", "gaps": [{"duration": 0.25}, {"duration": 0.75}], **lags})
    assert by_heading(coverage_columns("Timing"), row) == {
        **{"Run": "0007 sin_sin", "Period [ms]": "5.00", "Jitter [ms]": "0.25", "Gaps": "2", "Lag [ms]": "17"},
        **{"Velocity lag [ms]": "28", "Count [mrad]": "1.50"},
    }
    assert row[3].tip == "The longest lasts 750 ms"
    assert coverage_panel._timing({"run": "1", "gaps": [], **lags, "velocity_lag": None})[5].text == "–"
    titles = [column.title for column in coverage_columns("Conditions")]
    assert titles[1:5] == ["Load [kg]", "Length [m]", "Gain kp", "Supply [V]"]
    assert coverage_panel._NUMBERS == ("mass", "length", "kp", "supply_voltage")


# Runs and the plan.


class Noted(QObject):
    """A library of one run that says what is noted about it."""

    arrived = Signal(list)
    read_only = False

    def __init__(self, annotation):
        super().__init__()
        self.annotations = {RUN.id: annotation}

    def annotation(self, identity):
        return self.annotations[identity]

    def of(self, identity):
        return None


def test_a_run_s_facts_stand_below_their_headings(qapp):
    noted = Noted(Annotation(note="loose horn", tags=("odd", "late"), trim_begin=1.5, trim_end=4.5))
    table = RunTable(noted, noted, lambda *_: None)
    table.set_runs([RUN])
    assert row_of(table, 0) == {
        **{
            "Run": "0001",
            "Motion": "",
            "Trajectory": "Slow with sub-oscillations",
            "Servo": "mx106",
            "kp": "16",
            "Load [kg]": "0.5",
        },
        **{"Length [m]": "0.15", "Duration [s]": "6.00", "Samples": "1201", "Status": "complete, 1.50–4.50 s"},
        **{"Tags": "odd, late", "Note": "loose horn"},
    }
    assert table.index(0, 1).data(USED_ROLE) == (0.25, 0.75)
    titles = [table.headerData(place, Qt.Orientation.Horizontal) for place in range(table.columnCount())]
    keys = dict(zip(titles, (table.sort_keys(place)[0] for place in range(len(titles))), strict=True))
    numbers = ("Run", "kp", "Load [kg]", "Length [m]", "Duration [s]", "Samples")
    assert [keys[name] for name in numbers] == [1.0, 16.0, 0.5, 0.15, 6.0, 1201.0]


def test_tables_in_turn_show_their_own_rows_and_words_in_one_view(qtbot):
    parts = [
        ("Terms", "Coverage of each", (Column("Term"),)),
        ("Motion", "Range of each", (Column("Run"), Column("Speed"))),
    ]
    shown = TablesInTurn("Coverage", parts)
    qtbot.addWidget(shown)
    seen = []
    shown.turned.connect(seen.append)
    shown.show()
    assert not shown.view.isVisible(), "nothing to show"
    shown.fill(0, [["k_t"]])
    shown.fill(1, [["0001", "2.5"], ["0002", "3.5"]], words="Two runs are too slow.")
    assert row_of(shown.view.model(), 0) == {"Term": "k_t"}
    assert (shown.view.isVisible(), shown.words.isVisible()) == (True, False)
    assert shown.view.accessibleName() == "Coverage: Terms"
    shown.segments.choose(1)
    assert seen == [1]
    assert row_of(shown.view.model(), 1) == {"Run": "0002", "Speed": "3.5"}
    assert shown.words.isVisible()
    assert (shown.words.text(), shown.view.toolTip()) == ("Two runs are too slow.", "Range of each")
    # What is out of sight changes nothing in sight.
    shown.fill(0, ())
    assert (shown.view.model().rowCount(), shown.view.isVisible(), shown.words.isVisible()) == (2, True, True)
    shown.segments.choose(0)
    assert not shown.view.isVisible()
    assert not shown.words.isVisible()
