"""The arm in the window: compared by clicking, stopped, measured; numbers are those of the definitions."""

import csv

import numpy as np
import pytest
from PySide6.QtCore import Qt

from bench_gui import file_dialogs
from bench_gui.compare.view import ARM, OVERLAY
from bench_gui.render.paper import save_plot
from bench_gui.shell.tasks import BENCH, COMPARE
from bench_gui.studies.arm import form as arm_form
from bench_gui.studies.arm import tab as arm_tab
from bench_gui.studies.arm.compute import (
    ARM_SERVOS,
    FITTED,
    GAINS,
    OWN,
    PERIOD,
    PUBLISHED,
    ArmTrack,
    ArmView,
)
from bench_gui.studies.arm.form import LINKS_FILE, MEASURED
from bench_gui.studies.arm.plots import PAPER_SHAPE, TRUTH
from bench_gui.studies.arm.table import ratio_text, rows_of, table_panel
from bench_gui.theme import load_theme
from bench_gui.widgets.text_table import Cell
from core.base.units import DEGREES, RADIANS
from core.studies.arm import scene, validation
from tests.gui.test_window import check_names

FIRST_SEEN = BENCH


def track(name, friction, origin, error, count=5):
    angles = np.full((count, 2), 1e-3 * error)
    return ArmTrack(
        name=name, friction=friction, origin=origin, angles=angles, tip=angles,
        joints_mrad=(error, error), tip_mm=0.1 * error,
    )  # fmt: skip


def view_of(path, *tracks, count=5):
    zero = np.zeros((count, 2))
    return ArmView(
        path=path, gain="low, kp 8", time=np.linspace(0.0, 1.0, count), goal=zero, goal_tip=zero, reference=zero,
        reference_tip=zero, rest=np.zeros((3, 2)), tracks=tracks,
    )  # fmt: skip


CASES = [
    view_of("Circle", track("m1 fitted", "m1", FITTED, 20.0), track("m4 published", "m4", PUBLISHED, 4.0)),
    view_of("Square", track("m1 fitted", "m1", FITTED, 12.0), track("m4 published", "m4", PUBLISHED, 3.0)),
]


def curve(chart, name):
    return next(c for c in chart.seen() if c.name == name)


@pytest.fixture
def page(person):
    """Compare with the arm in sight, reached from the empty page."""
    person.window.resize(1280, 800)
    person.window.show_task(COMPARE)
    compare = person.window.compare
    assert compare.is_empty
    person.click(compare.arm_button)
    assert compare.tabs.current == ARM
    assert not compare.is_empty
    return person


def choose(page, models, period):
    """M1 takes seconds to find; paths and gains stay all."""
    form = page.window.compare.arm.settings
    for name, box in form.models.items():
        if box.isChecked() != (name in models):
            page.click(box)
    form.period.setValue(period)
    return form


def test_the_seeds_arms_and_gains_are_offered(page):
    arm = page.window.compare.arm
    assert {name: known.servos for name, known in scene.ARMS.items()} == ARM_SERVOS
    assert tuple(GAINS) == tuple(validation.GAINS)
    assert PERIOD == validation.PERIOD
    form = arm.settings
    assert [form.arm.itemText(i) for i in range(form.arm.count())] == [
        "MX-106, MX-64", "eRob80 1:100, 1:50", "links from a file",
    ]  # fmt: skip
    assert form.frictions == ("m1", "m4", "m6")
    form.arm.setCurrentIndex(1)
    assert [field.currentText() for field in form.joints] == ["ZeroErr eRob80 1:100 M6", "ZeroErr eRob80 1:50 M6"]
    check_names(page.window)
    page.window.help.show()
    assert page.window.help.window.current == "arm"


def test_what_is_missing_is_said(page, monkeypatch):
    """Run is disabled with its reason; without MuJoCo the page says how to get it."""
    arm = page.window.compare.arm
    form = arm.settings
    monkeypatch.setattr(arm_form, "find_spec", lambda name: name)
    for change, reason in (
        (lambda: form.paths.check(()), "no path"),
        (lambda: form.truth.setCurrentIndex(form.truth.findData(MEASURED)), "no recording"),
        (lambda: [box.setChecked(False) for box in form.models.values()], "no model"),
        (lambda: form.arm.setCurrentIndex(form.arm.findData(LINKS_FILE)), "no links"),
    ):
        change()
        assert not arm.run_button.isEnabled()
        assert reason in arm.run_button.toolTip()
    monkeypatch.setattr(arm_form, "find_spec", lambda name: None)
    arm.refresh()
    assert "servobench[mujoco]" in arm.empty.text.text()
    assert not arm.first_button.isEnabled()


def test_the_lowest_error_is_marked_and_the_ratio_is_over_all_cases():
    marked = [[cell.bold for cell in row if isinstance(cell, Cell)] for row in rows_of(CASES)]
    assert marked == [[False, True], [False, True]]
    assert ratio_text(CASES) == "The error of M1 fitted is 4.0 to 5.0 times that of M4 published."
    m1, m5, m6 = track("m1", "m1", FITTED, 3.0), track("m5", "m5", PUBLISHED, 0.5), track("m6", "m6", OWN, 0.005)
    assert ratio_text([view_of("Circle", m1, m5, m6)]) == "The error of M1 is 6.0 times that of M5."
    assert ratio_text([view_of("Circle", m1, m6)]) == ""
    assert ratio_text([view_of("Circle", track("m4", "m4", OWN, 1.0))]) == ""
    assert ratio_text([]) == ""


def test_an_arm_is_compared_stopped_and_measured(page, qtbot, tmp_path, monkeypatch):
    """Cases come one by one; a stop keeps them; a row's motion is drawn; a measured arm takes the truth's place."""
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    compare, arm = page.window.compare, page.window.compare.arm
    choose(page, ("m4", "m6"), 2.0)
    page.click(arm.run_button)
    assert not arm.run_button.isEnabled()
    assert page.controller.busy()
    page.until(lambda: len(arm.comparison.views) >= 2)
    assert arm.progress.bar.isVisible()
    assert arm.progress.status.text().startswith(f"Simulating case {len(arm.comparison.views) + 1} of 8")
    page.click(arm.stop_button)
    assert not arm.comparison.active
    assert arm.progress.status.text().startswith("Stopped")
    assert not page.controller.busy()
    views = arm.comparison.views
    assert 2 <= len(views) < 8

    shown = [(view.path, view.gain) for view in views[:2]]
    assert shown == [("Circle", "low, kp 8"), ("Circle", "high, kp 32")]
    table = arm.table
    assert [column.title for column in table.columns] == ["Path", "Gain", "M4 published", "M6"]
    assert table.rowCount() == len(views)
    assert [cell.tone for cell in table.rows[1][2:]] == ["", "good"]
    second = arm.table_view.visualRect(table.index(1, 0)).center()
    qtbot.mouseClick(arm.table_view.viewport(), Qt.MouseButton.LeftButton, pos=second)
    view = views[1]
    plots = arm.plots
    assert plots.keys == ["goal", TRUTH, "m4 published", "m6"]
    drawn = curve(plots.shoulder, "M4 published")
    np.testing.assert_array_equal(drawn.y, view.tracks[0].angles[:, 0])
    np.testing.assert_array_equal(curve(plots.plane, "true").x, view.reference_tip[:, 0])
    error = curve(plots.error, "M4 published")
    assert np.mean(error.y) == pytest.approx(view.tracks[0].mae_mrad)
    assert view.tracks[0].joints_mrad == pytest.approx(1e3 * np.abs(view.tracks[0].angles - view.reference).mean(0))
    assert float(table.rows[1][2].text.split(" / ")[0]) == pytest.approx(view.tracks[0].mae_mrad, rel=5e-3)
    apart = np.hypot(*(view.tracks[0].tip - view.reference_tip).T)
    assert view.tracks[0].tip_mm == pytest.approx(1e3 * apart.mean())
    page.until(lambda: plots.legend.buttons["m4 published"].isVisible())
    page.click(plots.legend.buttons["m4 published"])
    assert "M4 published" not in [c.name for chart in (plots.plane, plots.elbow, plots.error) for c in chart.seen()]
    page.click(plots.legend.buttons["m4 published"])
    page.controller.set_angle_unit(DEGREES)
    assert curve(plots.elbow, "true").y == pytest.approx(np.degrees(view.reference[:, 1]))
    page.controller.set_angle_unit(RADIANS)
    check_names(page.window)
    page.window.appearance.choose("dark")
    page.until(lambda: curve(plots.shoulder, "true").colour == load_theme("dark").measured.lower())
    assert curve(plots.plane, "M6").colour == load_theme("dark").model("m6").lower()
    written(arm, tmp_path, monkeypatch)

    recording = tmp_path / "arm of mine.csv"
    columns = np.column_stack([view.time, view.reference, view.goal])
    np.savetxt(recording, columns, delimiter=",", header="time,q1,q2,goal1,goal2", comments="")
    monkeypatch.setattr(file_dialogs, "ask", lambda *_, **__: ([str(recording)], ""))
    arm.settings.kp.setValue(32.0)
    page.click(arm.measured_button)
    page.until(lambda: not arm.comparison.active)
    assert arm.comparison.problem == ""
    (again,) = arm.comparison.views
    assert (again.path, again.gain) == ("arm of mine", "kp 32")
    ours, own = again.tracks
    assert own.mae_mrad < 0.05 < ours.mae_mrad
    assert ours.mae_mrad == pytest.approx(view.tracks[0].mae_mrad, rel=0.05)
    assert curve(plots.shoulder, "measured").y == pytest.approx(view.reference[:, 0])
    page.click(compare.tabs.buttons[OVERLAY])
    assert compare.is_empty


def written(arm, folder, monkeypatch):
    """Export the table and the path; in the dark, a picture has the colours of white paper."""
    monkeypatch.setattr(arm._controller, "save_plot", save_plot)
    files = [folder / name for name in ("table.csv", "path.csv")]
    for file, action in zip(files, (arm.table_action, arm.plane_action), strict=True):
        monkeypatch.setattr(arm_tab, "ask_plot_file", lambda *_, file=file: file)
        action.trigger()
    rows = list(csv.DictReader(files[0].open(encoding="utf-8")))
    views = arm.comparison.views
    assert [float(row["Error [mrad]"]) for row in rows] == [t.mae_mrad for view in views for t in view.tracks]
    assert len(table_panel(views).rows) == len(rows) == 2 * len(views)
    path = list(csv.DictReader(files[1].open(encoding="utf-8")))
    assert len(path) == len(views[1].time)
    (panel,) = arm.plots.plane_contents("plane").panels
    assert [c.colour for c in panel.curves if c.name == "true"] == [load_theme("light").measured]
    (low, high), (bottom, top) = panel.x_range, panel.y_range
    assert (high - low) / (top - bottom) == pytest.approx(PAPER_SHAPE)
    assert low <= views[1].reference_tip[:, 0].min() < views[1].reference_tip[:, 0].max() <= high
