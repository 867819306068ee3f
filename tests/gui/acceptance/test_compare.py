"""Rows of the acceptance table that comparing meets: overlay, plot tools, plot export."""

import csv

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QImage, QMouseEvent

from bench_gui.compare.view import DIAGRAM, ERRORS, MODELS, OVERLAY
from bench_gui.plots import export
from bench_gui.plots.chart import AXIS_WIDTH
from bench_gui.shell.tasks import BENCH, COMPARE
from bench_gui.theme import load_theme
from core.base.units import significant
from core.motion.simulation import on_grid, simulate_recording
from sessions import Session

FIRST_SEEN = BENCH

INITIAL, IDENTIFIED = "catalogue:mx106:m1", "identified:m2"


@pytest.fixture
def compared(person, identified):
    """Three runs, measured, by an initial model of the catalogue and by an identified one."""
    person.window.resize(1280, 720)
    person.open(identified)
    person.window.show_task(COMPARE)
    view, comparison = person.window.compare, person.controller.comparison
    for key, box in view.boxes.items():
        if box.isChecked() != (key in (INITIAL, IDENTIFIED)):
            person.click(box)
    person.until(lambda: not comparison.waiting and comparison.picture.overlays is not None)
    person.until(lambda: {IDENTIFIED, INITIAL} <= set(view.plots.keys))
    return person


def seen(chart, name):
    return next((curve for curve in chart.seen() if curve.name == name), None)


def test_overlay(compared):
    """Measured, initial and identified motion of several runs, with a residual pane; the legend switches curves."""
    view, controller = compared.window.compare, compared.controller
    plots = view.plots
    recordings = Session.open(controller.library.path).load_all()
    assert [r.id for r in recordings] == list(plots.shown)
    assert len(recordings) >= 2
    for key in (INITIAL, IDENTIFIED):
        entry = controller.model_list.entry(key)
        for recording in recordings:
            cell = plots.shown[recording.id]
            position, error = seen(cell.overlay, entry.title), seen(cell.residual, entry.title)
            motion = simulate_recording(entry.model, recording)
            run = on_grid(recording)[0]
            np.testing.assert_allclose(position.y, motion.position)
            np.testing.assert_allclose(error.y, (motion.position - run.position) * 1e3)
    cell = plots.shown[recordings[1].id]
    np.testing.assert_array_equal(seen(cell.overlay, "measured").y, recordings[1].position)
    title = controller.model_list.entry(INITIAL).title
    compared.click(plots.legend.buttons[INITIAL])
    assert seen(cell.overlay, title) is None
    assert seen(cell.residual, title) is None
    compared.click(plots.legend.buttons[INITIAL])
    assert seen(cell.overlay, title) is not None
    assert seen(cell.residual, title) is not None
    colours = {seen(cell.overlay, name).colour for name in ("measured", "goal", title, "M2")}
    assert len(colours) == 4


def test_plot_tools(compared, qtbot):
    """Aligned axes, one time axis, a double click fits, and cursors whose readouts agree with the data."""
    view = compared.window.compare
    plots, tools = view.plots, view.overlay_tools
    overlay, residual = plots.charts[:2]
    first_run = f"{overlay.belongs_to}: "
    for chart in (overlay, residual):
        assert chart.axes["left"].width() == AXIS_WIDTH
    assert overlay.view.mapRectToScene(overlay.view.rect()).left() == pytest.approx(
        residual.view.mapRectToScene(residual.view.rect()).left()
    )
    whole = residual.view.viewRange()[0]
    overlay.view.setXRange(1.0, 2.0, padding=0.0)
    assert residual.view.viewRange()[0] == pytest.approx([1.0, 2.0], abs=0.05)
    qtbot.mouseDClick(residual.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(300, 40))
    compared.until(lambda: residual.view.viewRange()[0] == pytest.approx(whole, abs=0.05))
    assert overlay.view.viewRange()[0] == pytest.approx(whole, abs=0.05)

    compared.click(tools.cursor_button)
    assert tools.readout.isVisible()
    first_line, second_line = tools.cursors._lines[0]
    drag(qtbot, overlay, first_line, 1.203)
    tools.cursors.move(1, 1.6071)
    first, second = tools.cursors.places
    assert first == pytest.approx(1.203, abs=0.02)
    for lines in tools.cursors._lines:
        assert [line.value() for line in lines] == [first, second]
    recordings = Session.open(compared.controller.library.path).load_all()
    listed = tools.cursors.readings()
    readings = {(r.name, r.unit): r for r in listed if r.axis.startswith(first_run)}
    assert {unit for _, unit in readings} == {"rad", "mrad"}
    assert first != recordings[0].time[0]
    expected = [at(recordings[0], place) for place in (first, second)]
    reading = readings["measured", "rad"]
    assert (reading.first, reading.second) == pytest.approx(tuple(expected), abs=1e-12)
    assert reading.difference == pytest.approx(expected[1] - expected[0], abs=1e-12)
    table = tools.readout.table
    compared.until(lambda: table.rowCount() == len(listed) + 2 * len(recordings))
    assert [table.data(table.index(r, 0)) for r in table.headings][:2] == [
        f"{first_run}Position [rad]",
        f"{first_run}Error [mrad]",
    ]
    row = next(r for r in range(table.rowCount()) if table.data(table.index(r, 0)) == "measured")
    shown = [float(table.data(table.index(row, c)).replace("−", "-")) for c in (1, 2, 3)]
    assert shown == pytest.approx([*expected, expected[1] - expected[0]], rel=1e-3)
    assert "s" in tools.readout.handles[0].text()
    assert f"Δt = {significant(second - first)} s" in tools.readout.difference.text()

    tools.readout.handles[0].setFocus()
    pixel = np.diff(overlay.view.viewRange()[0])[0] / overlay.view.width()
    qtbot.keyClick(tools.readout.handles[0], Qt.Key.Key_Right)
    assert tools.cursors.places == [pytest.approx(first + pixel), second]
    qtbot.keyClick(tools.readout.handles[1], Qt.Key.Key_Left, Qt.KeyboardModifier.ShiftModifier)
    assert tools.cursors.places[1] == pytest.approx(second - 10 * pixel)

    compared.click(plots.legend.buttons["measured"])
    rest = [reading for reading in listed if reading.name != "measured"]
    compared.until(lambda: table.rowCount() == len(rest) + len(tools.readout.table.headings))
    assert "measured" not in {reading.name for reading in tools.cursors.readings()}
    compared.click(tools.cursor_button)
    assert not tools.readout.isVisible()
    assert not [i for i in overlay.drawn if i in (first_line, second_line)]


def drag(qtbot, chart, line, to):
    """Drag a line with the mouse to a place on the lower axis."""
    height = chart.view.viewRange()[1][0] + 0.4 * np.diff(chart.view.viewRange()[1])[0]

    def pixel(x):
        return chart.mapFromScene(chart.view.mapViewToScene(QPointF(x, height)))

    viewport, button, keys = chart.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    qtbot.mouseMove(viewport, pixel(line.value()))
    qtbot.mousePress(viewport, button, pos=pixel(line.value()))
    for place in np.linspace(line.value(), to, 6):
        qtbot.wait(15)  # pyqtgraph takes no more than a hundred moves a second
        where = pixel(float(place))
        # QTest's own moves hold no button.
        there, anywhere = QPointF(where), QPointF(viewport.mapToGlobal(where))
        QGuiApplication.sendEvent(viewport, QMouseEvent(QEvent.Type.MouseMove, there, anywhere, button, button, keys))
        QGuiApplication.processEvents()
    qtbot.mouseRelease(viewport, button, pos=pixel(to))


def at(recording, place):
    return float(np.interp(place, recording.time - recording.time[0], recording.position))


@pytest.fixture
def exported(compared, tmp_path, monkeypatch):
    """Export by menu into a file of an ending, and wait for it."""

    def act(ending, tab=OVERLAY):
        view = compared.window.compare
        compared.click(view.tabs.buttons[tab])
        compared.until(lambda: bool(view.exports[tab].contents().panels))
        path = tmp_path / f"plot_{tab}{ending}"
        monkeypatch.setattr(export, "ask_plot_file", lambda *_: path)
        done = []
        compared.controller.journal.said.connect(lambda said: done.append(said.text))
        view.exports[tab].export_action.trigger()
        compared.until(lambda: any(str(path) in text for text in done))
        assert path.exists(), done
        return path

    return act


def test_plot_export(compared, exported):
    """The visible range of the visible curves: CSV equals the slice of the data, pictures are white and titled."""
    view, controller = compared.window.compare, compared.controller
    plots = view.plots
    recordings = Session.open(controller.library.path).load_all()
    compared.click(plots.shown[recordings[1].id].title)
    (cell,) = plots.shown.values()
    name = f"{cell.overlay.belongs_to}: "
    cell.overlay.view.setXRange(0.5, 1.5, padding=0.0)
    compared.click(plots.legend.buttons["goal"])
    low, high = cell.overlay.view.viewRange()[0]
    with exported(".csv").open(encoding="utf-8") as file:
        heading, *rows = list(csv.reader(file))
    assert heading == [
        "Time [s]",
        f"measured: {name}Position [rad]",
        "Time [s]",
        f"M2: {name}Position [rad]",
        f"M1 catalogue: {name}Position [rad]",
        f"M2: {name}Error [mrad]",
        f"M1 catalogue: {name}Error [mrad]",
    ]
    time = recordings[1].time - recordings[1].time[0]
    inside = (time >= low) & (time <= high)
    assert 150 < inside.sum() < 250
    columns = [np.array([float(cell) for cell in column if cell]) for column in zip(*rows, strict=True)]
    np.testing.assert_array_equal(columns[0], time[inside])
    np.testing.assert_array_equal(columns[1], recordings[1].position[inside])
    run = on_grid(recordings[1])[0]
    grid = run.time - recordings[1].time[0]
    inside = (grid >= low) & (grid <= high)
    for place, key in ((3, IDENTIFIED), (4, INITIAL)):
        motion = simulate_recording(controller.model_list.entry(key).model, recordings[1]).position
        np.testing.assert_array_equal(columns[2], grid[inside])
        np.testing.assert_allclose(columns[place], motion[inside], rtol=0, atol=1e-12)
        np.testing.assert_allclose(columns[place + 2], (motion - run.position)[inside] * 1e3, rtol=0, atol=1e-9)

    compared.window.appearance.choose("dark")
    compared.until(lambda: cell.overlay.backgroundBrush().color().name() == load_theme("dark").plot.lower())
    svg = exported(".svg").read_text("utf-8")
    assert "#ffffff" in svg
    measured, white = "#10171f", "#f3f6f9"
    assert measured in svg
    assert white not in svg
    title = controller.comparison.title(list(plots.shown))
    number = recordings[1].id.split("_")[0]
    assert title == f"identified, run {number}, M2, M1 catalogue".replace("identified", controller.library.title)
    view.overlay_tools.export.copy_action.trigger()
    copied = QGuiApplication.clipboard().pixmap()
    assert copied.size() == plots.size() * copied.devicePixelRatio()


def test_every_tab_is_exported(compared, exported):
    """Each tab writes its picture and its numbers."""
    comparison = compared.controller.comparison
    for tab in (OVERLAY, ERRORS, MODELS, DIAGRAM):
        compared.click(compared.window.compare.tabs.buttons[tab])
        compared.until(lambda: comparison.judged[0] == comparison.judged[1])
        numbers = list(csv.reader(exported(".csv", tab).read_text("utf-8").splitlines()))
        assert len(numbers) >= 2
        assert len({len(row) for row in numbers}) == 1
        assert "[" in " ".join(numbers[0])
        assert not QImage(str(exported(".png", tab))).isNull()
