"""Comparing in the window: errors by condition, heat map, bars, diagram; what is out of sight costs nothing."""

import json
import math
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt

from bench_gui.cli import main
from bench_gui.compare import comparison as comparing
from bench_gui.compare.comparison import ErrorBook
from bench_gui.compare.diagram import DiagramPlot
from bench_gui.compare.errors_tab import GRIDS, ROWS, ErrorsTab
from bench_gui.compare.model_choice import ModelChoice
from bench_gui.compare.view import DIAGRAM, ERRORS, MODELS, OVERLAY
from bench_gui.controller import Controller
from bench_gui.headless.comparison_tables import Judged, bar_panel, condition_groups, heat_panel, split_groups
from bench_gui.plots.heat import CIVIDIS, heat_colour, ink_on
from bench_gui.shell.tasks import BENCH, COMPARE
from bench_gui.state.models import CATALOGUE, IDENTIFIED, ModelEntry
from bench_gui.theme import load_theme
from bench_gui.widgets.text_table import VALUE_ROLE
from core.base.errors import InputError
from core.base.units import DEGREES, RADIANS
from core.identification.evaluate import evaluate
from core.identification.runs.grouping import grid_of, group_runs
from core.motion.trajectories import make_trajectory
from core.practice.diagram import drive_backdrive_diagram
from core.practice.placement import BACKDRIVE, DRIVE, PlacedPoint
from core.servo.bench import Bench
from core.servo.shipped import load_model
from sessions import Session
from tests.gui.conftest import Person
from tests.gui.session.test_run_words import RUN
from tests.gui.shared import record_session, shared_window
from tests.gui.test_window import contrast
from tests.kept import kept

FIRST_SEEN = COMPARE

RUNS = {
    "a": {"trajectory": "sin_sin", "mass": 0.5, "kp": 8.0},
    "b": {"trajectory": "sin_sin", "mass": 0.50000001, "kp": 16.0},
    "c": {"trajectory": "lift_and_drop", "mass": 1.0, "kp": 8.0},
    "d": {"trajectory": "lift_and_drop", "mass": 1.0, "kp": 8.0},
}
ERROR_OF = {"a": 0.010, "b": 0.020, "c": 0.030, "d": math.nan}


def test_runs_are_grouped_by_what_they_share():
    assert [(g.values, g.runs) for g in group_runs(RUNS, ["mass"])] == [((0.5,), ("a", "b")), ((1.0,), ("c", "d"))]
    by_name = group_runs(RUNS, ["trajectory"])
    assert [g.values for g in by_name] == [("lift_and_drop",), ("sin_sin",)]
    assert [g.mean(ERROR_OF) for g in by_name] == [0.030, pytest.approx(0.015)]
    assert group_runs(RUNS, ["mass"])[0].mean({}) is None
    grid = grid_of(RUNS, "mass", "kp")
    assert (grid.rows, grid.columns) == ((0.5, 1.0), (8.0, 16.0))
    np.testing.assert_allclose(grid.means(ERROR_OF), [[0.010, 0.020], [0.030, math.nan]])
    with pytest.raises(InputError, match="colour"):
        group_runs(RUNS, ["colour"])


def test_bars_and_heat_map_are_in_milliradians():
    panel = bar_panel(condition_groups(RUNS, ["mass"]), [Judged("M1", "#000000", ERROR_OF)], "Mass [kg]")
    assert panel.groups == ("0.5 kg\n2 runs", "1 kg\n2 runs")
    assert panel.series[0].values == pytest.approx((15.0, 30.0))
    heat = heat_panel(grid_of(RUNS, "mass", "kp"), Judged("M1", "", ERROR_OF))
    assert (heat.left, heat.bottom, heat.rows, heat.columns) == ("Load [kg]", "Gain kp", ("0.5", "1"), ("8", "16"))
    assert "[mrad]" in heat.scale
    np.testing.assert_allclose(heat.values, [[10.0, 20.0], [30.0, math.nan]])


def errors_tab(qtbot, errors):
    """The errors page with these errors [rad] by model and run."""
    entries = [ModelEntry(name, CATALOGUE, load_model("mx106", name)) for name in errors]
    book = ErrorBook()
    for entry in entries:
        book.add(entry, errors[entry.key])
    ids = dict.fromkeys(run for known in errors.values() for run in known)
    runs = [replace(RUN, id=name, kp=RUN.kp + place) for place, name in enumerate(ids)]
    tab = ErrorsTab(SimpleNamespace(runs=runs, entries=entries, book=book, title=lambda: "some runs"))
    qtbot.addWidget(tab)
    tab.show_runs()
    return tab


def test_rows_and_a_heat_map_share_what_was_chosen(qtbot):
    """One run, on which M1 errs by 4 mrad."""
    tab = errors_tab(qtbot, {"m1": {RUN.id: 0.004}})
    assert tab.table_contents().panels[0].rows[1] == (RUN.id.split("_")[0], "sin_sin  kp 16", 4.0)
    named = {
        "trajectory": ("Trajectory", "sin_sin", "sin_sin"),
        "load": ("Load [kg]", "0.567", "0.567 kg"),
        "length": ("Length [m]", "0.15", "0.15 m"),
        "gain": ("Gain kp", "16", "kp 16"),
        "gain kp": ("Gain kp", "16", "kp 16"),
        "load and gain": ("", "", "0.567 kg, kp 16"),
        "supply": ("", "", "14.8 V"),
    }
    for chosen, _ in ROWS[1:]:
        tab.rows.setCurrentText(chosen)
        assert tab.table_contents().panels[0].rows[1] == (named[chosen][2], "1 run", 4.0)
    for chosen, _ in GRIDS:
        tab.over.setCurrentText(chosen)
        (heat,) = tab.heat_contents().panels
        row, column = (named[word][:2] for word in chosen.split(" × "))
        assert ((heat.left, *heat.rows), (heat.bottom, *heat.columns)) == (row, column)
        assert heat.values.tolist() == [[pytest.approx(4.0)]]


def test_the_best_of_each_row_is_marked_beside_runs_that_diverge(qtbot):
    """A run on which a model diverges counts for neither its mean nor the mark; one that is not judged yet waits."""
    table = errors_tab(
        qtbot, {"m1": {"1": 0.004, "2": math.nan}, "m4": {"1": 0.003, "2": 0.008}, "m6": {"1": 0.005}}
    ).table
    cells = [[table.cell_at(row, column) for column in (2, 3, 4)] for row in range(3)]
    assert [[cell.text for cell in row] for row in cells] == [
        ["4.00", "5.50", "…"],
        ["4.00", "3.00", "5.00"],
        ["–", "8.00", "…"],
    ]
    assert [[cell.tone for cell in row] for row in cells] == [["good", "", ""], ["", "good", ""], ["", "", ""]]
    assert [column.title for column in table.columns] == ["Run", "Trajectory", *(f"M{n} catalogue" for n in (1, 4, 6))]
    assert [table.run_id(row) for row in range(3)] == ["", "1", "2"]


def test_errors_of_one_session_are_not_those_of_another(qtbot, session, tmp_path, monkeypatch):
    """Their runs have the same names."""
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path / "home"))
    controller = Controller("simulated:mx106")
    comparison = controller.comparison
    for place, known in ((session, 3), (shutil.copytree(session, tmp_path / "other"), 0)):
        with qtbot.waitSignal(controller.library.opened):
            controller.library.open(place)
        comparison.choose(tuple(entry.key for entry in controller.model_list.entries[:1]))
        if known:
            comparison.book.add(comparison.entries[0], {run.id: 0.004 for run in comparison.runs})
        assert comparison.judged == (known, 3)
        # What was trimmed is judged again.
        controller.library.trimmed.emit([comparison.runs[0].id])
        assert comparison.judged == (max(0, known - 1), 3)
    controller.close()


def test_the_recommended_model_is_marked_and_compared_with_the_first(qtbot, tmp_path, monkeypatch):
    """Without an identification the catalogue's simplest and richest are compared."""
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path))
    controller = Controller("simulated:mx106")
    models, comparison = controller.model_list, controller.comparison
    choice = ModelChoice(models, comparison)
    qtbot.addWidget(choice)
    comparison.enter()
    assert comparison.chosen == ("catalogue:mx106:m1", "catalogue:mx106:m6")
    models.set_identified([load_model("mx106", name) for name in ("m1", "m3", "m5")], "m3")
    comparison.enter()
    assert comparison.chosen == ("identified:m1", "identified:m3")
    assert [key for key, box in choice.boxes.items() if box.isChecked()] == ["identified:m1", "identified:m3"]
    assert [key for key, box in choice.boxes.items() if "★" in box.text()] == ["identified:m3"]
    choice.boxes["identified:m5"].click()
    assert comparison.chosen == ("identified:m1", "identified:m3", "identified:m5")
    comparison.enter()
    assert len(comparison.chosen) == 3, "a person's choice stays"
    controller.close()


def test_runs_are_divided_as_the_identification_did():
    model = SimpleNamespace(provenance={"train": ["a", "b"], "validation": ["c"]})
    assert [(name, g.runs) for name, g in split_groups(list(RUNS), [model])] == [
        ("training", ("a", "b")),
        ("validation", ("c",)),
        ("other runs", ("d",)),
    ]
    assert split_groups(list(RUNS), [SimpleNamespace(provenance={})]) == []
    assert split_groups(list(RUNS), []) == []


@given(st.floats(0, 1))
def test_numbers_can_be_read_on_every_colour_of_the_heat_map(share):
    colour = heat_colour(share)
    assert contrast(ink_on(colour), colour) >= 4.5


def test_the_heat_map_grows_lighter_for_every_eye():
    light = [contrast("#000000", colour) for colour in CIVIDIS]
    assert light == sorted(light)
    assert (heat_colour(0.0), heat_colour(1.0)) == (CIVIDIS[0], CIVIDIS[-1])


@pytest.fixture(scope="session")
def grid_session():
    return kept(three_corners) / "grid"


def three_corners(folder):
    """Three of the four corners of two masses × two gains, two trajectories each."""
    motions = [make_trajectory(name, 1.5) for name in ("sin_sin", "lift_and_drop")]
    corners = ((0.5, 8.0), (1.0, 8.0), (1.0, 16.0))
    record_session(folder / "grid", [(motion, mass, kp) for mass, kp in corners for motion in motions])


@pytest.fixture(scope="module")
def open_grid(qapp, grid_session, tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    with shared_window(folder / "home", COMPARE) as window:
        window.controller.library.open(shutil.copytree(grid_session, folder / "grid"))
        yield window


@pytest.fixture
def gridded(open_grid, qtbot):
    """Compare with the overlay of M1 and M6 in sight."""
    person = Person(qtbot, open_grid)
    comparison = person.controller.comparison
    person.until(lambda: len(comparison.runs) == 6)
    person.window.show_task(COMPARE)
    person.window.compare.tabs.choose(OVERLAY)
    person.window.compare.errors.rows.setCurrentIndex(0)
    person.controller.set_angle_unit(RADIANS)
    comparison.choose(tuple(f"catalogue:mx106:{name}" for name in ("m1", "m6")))
    comparison.draw()
    person.until(lambda: not comparison.waiting and comparison.picture.overlays is not None)
    return person


def all_known(person):
    known, wanted = person.controller.comparison.judged
    return wanted > 0 and known == wanted


def show(person, tab):
    person.click(person.window.compare.tabs.buttons[tab])


def test_errors_by_run_and_by_condition_agree_with_the_evaluation(gridded):
    view = gridded.window.compare
    show(gridded, ERRORS)
    gridded.until(lambda: all_known(gridded))
    recordings = Session.open(gridded.controller.library.path).load_all()
    truth = {run.id: run.mae * 1e3 for run in evaluate(load_model("mx106", "m6"), recordings).runs}
    table = view.errors.table
    column = next(c for c in range(2, table.columnCount()) if "M6" in table.headerData(c, Qt.Orientation.Horizontal))
    shown = {table.run_id(row): float(table.data(table.index(row, column))) for row in range(1, table.rowCount())}
    assert shown == pytest.approx(truth, rel=0.01, abs=0.005)
    assert float(table.data(table.index(0, column))) == pytest.approx(np.mean(list(truth.values())), rel=0.01)
    view.errors.rows.setCurrentText("load and gain")
    cells = [[table.data(table.index(row, c)) for c in (0, 1)] for row in range(table.rowCount())]
    assert cells == [
        ["Mean", "6 runs"],
        ["0.5 kg, kp 8", "2 runs"],
        ["1 kg, kp 8", "2 runs"],
        ["1 kg, kp 16", "2 runs"],
    ]
    first_two = [truth[run.id] for run in gridded.controller.library.runs[:2]]
    assert float(table.data(table.index(1, column))) == pytest.approx(np.mean(first_two), rel=0.01)


def test_the_heat_map_marks_what_nobody_recorded(gridded):
    view = gridded.window.compare
    show(gridded, ERRORS)
    gridded.until(lambda: all_known(gridded))
    heat = view.errors.heat.table
    assert (heat.panel.rows, heat.panel.columns) == (("0.5", "1"), ("8", "16"))
    assert heat.data(heat.index(0, 1)) == "–"
    assert heat.data(heat.index(0, 1), VALUE_ROLE) == ""
    known = [(r, c) for r in (0, 1) for c in (0, 1) if (r, c) != (0, 1)]
    values = {place: heat.panel.values[place] for place in known}
    assert all(np.isfinite(list(values.values())))
    assert heat.data(heat.index(*max(values, key=values.get)), VALUE_ROLE) == CIVIDIS[-1]
    assert heat.data(heat.index(*min(values, key=values.get)), VALUE_ROLE) == CIVIDIS[0]
    assert "kp 16: error unknown" in heat.data(heat.index(0, 1), Qt.ItemDataRole.ToolTipRole)
    for place in (0, 1):
        view.errors.model.setCurrentIndex(place)
        entry = gridded.controller.comparison.entries[place]
        assert entry.title.upper() in view.errors.heat_title.text()
        assert heat.panel.values[0, 0] == pytest.approx(1e3 * group_mean(gridded, entry, 0, 1))


def group_mean(person, entry, *places):
    """Mean error of a model on runs of the session."""
    errors = list(person.controller.comparison.book.of(entry).values())
    return np.mean([errors[place] for place in places])


def test_a_run_of_the_table_is_shown_over_the_models(gridded):
    view = gridded.window.compare
    gridded.until(lambda: len(view.plots.shown) == 6)
    show(gridded, ERRORS)
    view.errors.table_view.activated.emit(view.errors.table.index(3, 0))
    assert view.tabs.current == OVERLAY
    assert list(view.plots.shown) == [gridded.controller.library.runs[2].id]
    gridded.click(view.plots.shown[gridded.controller.library.runs[2].id].title)
    assert len(view.plots.shown) == 6


def test_bars_show_the_same_means(gridded):
    view = gridded.window.compare
    show(gridded, MODELS)
    gridded.until(lambda: all_known(gridded))
    tab = view.models
    tab.groups.setCurrentText("load")
    assert tab.chart.panel.groups == ("0.5 kg\n2 runs", "1 kg\n4 runs")
    entries = gridded.controller.comparison.entries
    for series, entry in zip(tab.chart.panel.series, entries, strict=True):
        means = (group_mean(gridded, entry, 0, 1), group_mean(gridded, entry, 2, 3, 4, 5))
        assert series.values == pytest.approx(tuple(1e3 * mean for mean in means))
    assert len(tab.chart.values) == 2 * len(entries)
    colours = [load_theme("light").model(entry.model.friction) for entry in entries]
    assert [series.colour for series in tab.chart.panel.series] == colours, "those of every other plot"
    assert all(series.pale for series in tab.chart.panel.series), "none was identified from these runs"
    tab.groups.setCurrentText("fit, held out")
    assert tab.chart.panel.groups == ()
    assert "identify" in tab.note.text()


def test_bars_tell_training_from_validation(person, identified):
    person.open(identified)
    person.window.show_task(COMPARE)
    show(person, MODELS)
    person.until(lambda: all_known(person))
    tab = person.window.compare.models
    tab.groups.setCurrentText("fit, held out")
    assert [name.split("\n")[0] for name in tab.chart.panel.groups] == ["training", "validation"]
    for series, entry in zip(tab.chart.panel.series, person.controller.comparison.entries, strict=True):
        found = (entry.model.provenance["train_mae"] * 1e3, entry.model.provenance["validation_mae"] * 1e3)
        assert series.values == pytest.approx(found, rel=1e-6)
        assert (series.pale == 0.0) == (entry.origin == IDENTIFIED)


def test_the_diagram_is_the_one_of_core(gridded):
    view = gridded.window.compare
    show(gridded, DIAGRAM)
    model = load_model("mx106", "m6")
    expected = drive_backdrive_diagram(model, velocity=(0.0, 1.0, 2.0))
    for i in range(3):
        for kind, values in (("drive", expected.drive[:, i]), ("backdrive", expected.backdrive[:, i])):
            curve = drawn(view, f"M6 catalogue {kind}, {i} rad/s")
            for torque, value in zip(expected.motor_torque, values, strict=True):
                np.testing.assert_allclose(curve.at(torque), value)
    ends = drawn(view, "equilibrium τₑ = −τₘ")
    np.testing.assert_allclose(ends.y, -ends.x)
    assert len(view.diagram.plot.chart.seen_areas()) == 4
    widths = [drawn(view, f"M6 catalogue drive, {i} rad/s") for i in range(3)]
    assert widths[0].width > widths[1].width
    assert widths[0].opacity > widths[1].opacity > widths[2].opacity
    button = view.diagram.plot.legend.buttons[gridded.controller.comparison.chosen[-1]]
    button.click()
    colour = drawn(view, "M1 catalogue drive, 0 rad/s").colour
    assert [area.colour.lower() for area in view.diagram.plot.chart.seen_areas()] == [colour, colour]
    button.click()
    view.diagram.faster.setValue(1)
    assert not any("2 rad/s" in curve.name for curve in view.diagram.plot.chart.seen())
    view.diagram.faster.setValue(2)
    gridded.controller.set_angle_unit(DEGREES)
    assert any(curve.name.endswith("114.592 °/s") for curve in view.diagram.plot.chart.seen())


def test_one_model_has_the_colours_and_areas_of_fig_2(qapp):
    """Drive blue, backdrive red, the static area between them; no line through 0; no farther than the servo can."""
    plot, theme = DiagramPlot(), load_theme("light")
    plot.show_models([ModelEntry("m6", CATALOGUE, load_model("mx106", "m6"))], (0.0,), (), DEGREES)
    colours = {curve.name.split(",")[0].split()[-1]: curve.colour.lower() for curve in plot.chart.seen()}
    assert colours["drive"] == theme.drive.lower()
    assert colours["backdrive"] == theme.backdrive.lower()
    assert [area.name for area in plot.chart.seen_areas()] == ["drive", "static", "backdrive"] * 2
    drive = next(curve for curve in plot.chart.seen() if "drive" in curve.name)
    assert np.abs(drive.x).max() == 8.4
    assert np.isnan(drive.y[drive.x == 0.0]).any()


def drawn(view, name):
    return next(curve for curve in view.diagram.plot.chart.seen() if curve.name == name)


def test_points_placed_by_hand_join_the_diagram(gridded):
    view, placing = gridded.window.compare, gridded.controller.placing
    show(gridded, DIAGRAM)
    assert "placed" not in view.diagram.plot.keys
    bench = Bench(mass=1.0, length=0.1)
    placing._placed.points = tuple(
        PlacedPoint(motor_torque=torque, angle=angle, side=side, bench=bench, servo=servo)
        for torque, angle, side, servo in ((0.3, 0.2, DRIVE, "mx106"), (0.3, 0.5, BACKDRIVE, "mx106"),
                                           (0.4, 0.3, DRIVE, "mx64"))
    )  # fmt: skip
    placing.points_changed.emit()
    lowest, highest = drawn(view, "placed, lowest"), drawn(view, "placed, highest")
    assert (lowest.x.tolist(), highest.x.tolist()) == ([0.3], [0.3])
    assert lowest.y[0] == pytest.approx(bench.external_torque(0.2))
    assert highest.y[0] == pytest.approx(bench.external_torque(0.5))
    placing._placed.points = ()
    placing.points_changed.emit()


def test_what_is_out_of_sight_asks_for_nothing(person, grid_session, tmp_path):
    asked = []
    original = person.controller.background.submit
    person.controller.background.submit = lambda lane, *rest, **named: (
        asked.append(rest[1].__name__ if lane == "compute" else lane),
        original(lane, *rest, **named),
    )
    person.window.show_task(BENCH)
    person.open(shutil.copytree(grid_session, tmp_path / "grid"))
    comparison = person.controller.comparison
    comparison.choose_sensibly()
    assert "overlays" not in asked
    assert "errors" not in asked
    person.window.show_task(COMPARE)
    person.until(lambda: "overlays" in asked)  # once the page has been painted
    assert "errors" not in asked
    show(person, DIAGRAM)
    person.until(lambda: comparison.picture.overlays is not None)
    assert asked.count("overlays") == 1
    assert person.window.compare.plots.shown == {}
    asked.clear()
    show(person, ERRORS)
    assert asked == []
    person.window.compare.boxes[next(k for k in person.window.compare.boxes if k.endswith("m3"))].click()
    assert asked == ["errors"]
    person.until(lambda: all_known(person))


def test_long_sessions_are_drawn_page_by_page_and_judged_whole(gridded, monkeypatch):
    monkeypatch.setattr(comparing, "MOST_DRAWN", 4)
    monkeypatch.setattr(comparing, "PORTION", 2)
    view, comparison = gridded.window.compare, gridded.controller.comparison
    comparison.draw()
    gridded.until(lambda: not comparison.waiting and len(view.plots.shown) == 4)
    assert view.head.note.text() == "Runs 1 to 4 of 6"
    assert not view.head.earlier.isEnabled()
    gridded.click(view.head.later)
    gridded.until(lambda: not comparison.waiting and len(view.plots.shown) == 2)
    assert not view.head.later.isEnabled()
    comparison.book.clear()
    seen = []
    comparison.errors_changed.connect(lambda: seen.append(comparison.judged[0]))
    view._unasked.add(ERRORS)
    show(gridded, ERRORS)
    assert view.head.progress.isVisible()
    gridded.until(lambda: all_known(gridded))
    assert seen == [4, 8, 12]
    assert not view.head.progress.isVisible()
    # A run of the table brings the page it is on.
    view.errors.table_view.activated.emit(view.errors.table.index(1, 0))
    gridded.until(lambda: not comparison.waiting and list(view.plots.shown) == [comparison.runs[0].id])
    assert view.tabs.current == OVERLAY
    show(gridded, ERRORS)
    view.errors.table_view.activated.emit(view.errors.table.index(6, 0))
    gridded.until(lambda: not comparison.waiting and list(view.plots.shown) == [comparison.runs[5].id])
    assert view.head.note.text() == "Runs 5 to 6 of 6"


def test_leaving_ends_the_judging_and_coming_back_goes_on(gridded, monkeypatch):
    monkeypatch.setattr(comparing, "PORTION", 1)
    comparison = gridded.controller.comparison
    comparison.book.clear()
    gridded.window.compare._unasked.add(ERRORS)
    show(gridded, ERRORS)
    gridded.until(lambda: comparison.judged[0] > 0)
    gridded.window.show_task(BENCH)
    gridded.until(lambda: not gridded.controller.background.busy)
    known, wanted = comparison.judged
    assert known < wanted
    gridded.window.show_task(COMPARE)
    gridded.until(lambda: all_known(gridded))


def test_a_model_of_another_servo_is_said_and_the_rest_is_shown(gridded, tmp_path):
    file = tmp_path / "other.json"
    file.write_text(load_model("xl330", "m4").to_json_text(), "utf-8")
    show(gridded, ERRORS)
    gridded.until(lambda: all_known(gridded))
    gridded.controller.open_model(file)
    gridded.until(lambda: all_known(gridded))
    assert "none of these runs is of servo xl330" in gridded.message
    table = gridded.window.compare.errors.table
    column = next(c for c in range(2, table.columnCount()) if "other" in table.headerData(c, Qt.Orientation.Horizontal))
    cells = {table.data(table.index(row, column)) for row in range(table.rowCount())}
    assert cells == {"–"}


def test_the_command_line_says_the_same(gridded, capsys, tmp_path):
    view, path = gridded.window.compare, gridded.controller.library.path
    show(gridded, ERRORS)
    gridded.until(lambda: all_known(gridded))
    view.errors.rows.setCurrentText("load and gain")
    panel = view.errors.table_contents().panels[0]
    column = panel.headings.index("M6 catalogue [mrad]")
    picture = tmp_path / "grid.svg"
    arguments = ["evaluate", str(path), "--model", "mx106:m6", "--by", "mass,kp", "--plot", str(picture), "--json"]
    assert main(arguments) == 0
    groups = json.loads(capsys.readouterr().out)["groups"]
    assert [(g["mass"], g["kp"], g["runs"]) for g in groups] == [(0.5, 8.0, 2), (1.0, 8.0, 2), (1.0, 16.0, 2)]
    assert [g["mean_mae"] * 1e3 for g in groups] == pytest.approx([row[column] for row in panel.rows[1:]])
    assert "<svg" in picture.read_text("utf-8")
    numbers = tmp_path / "motion.csv"
    assert main(["evaluate", str(path), "--model", "mx106:m6", "--plot", str(numbers)]) == 0
    heading, *rows = numbers.read_text("utf-8").splitlines()
    assert heading.startswith('"Time, runs end to end [s]",goal: Position [rad],measured: Position [rad]')
    assert len(rows) > 1700
    assert main(["evaluate", str(path), "--model", "mx106:m6", "--by", "colour"]) == 1
    assert "no condition colour" in capsys.readouterr().err
