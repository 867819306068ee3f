"""Beside the position in an overlay: channels, spectra, responses, differences, and the pendulum that plays."""

import shutil
import threading

import numpy as np
import pyqtgraph as pg
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QWheelEvent
from PySide6.QtWidgets import QApplication

from bench_gui.compare.plots import DIFFERENCE, ERROR, SPECTRUM
from bench_gui.compare.view import OVERLAY, RESPONSE
from bench_gui.plots.chart import Chart, pen
from bench_gui.render.paper import plot_figure
from bench_gui.shell.tasks import COMPARE
from bench_gui.theme import load_theme
from core.base.units import DEGREES, RADIANS
from core.motion.frequency import NO_BAND, amplitude_density, frequency_response
from core.motion.recording import CHANNELS
from core.motion.simulation import on_grid, simulate_recording
from core.motion.trajectories import make_trajectory
from core.servo.shipped import load_model
from sessions import Session
from tests.gui.conftest import Person
from tests.gui.shared import record_session, shared_window
from tests.kept import kept

FIRST_SEEN = COMPARE
M1, M6 = "catalogue:mx106:m1", "catalogue:mx106:m6"


@pytest.fixture(scope="session")
def swept():
    return kept(sweep_and_slow_motion) / "swept"


def sweep_and_slow_motion(folder):
    """A run that excites a band, and one that does not."""
    sweep = make_trajectory("chirp", 4.0, end_frequency=6.0, sweep_time=4.0)
    record_session(folder / "swept", [(motion, 0.5, 16.0) for motion in (sweep, make_trajectory("up_and_down", 4.0))])


@pytest.fixture(scope="module")
def open_sweep(qapp, swept, tmp_path_factory):
    folder = tmp_path_factory.mktemp("views")
    with shared_window(folder / "home", COMPARE) as window:
        window.controller.library.open(shutil.copytree(swept, folder / "swept"))
        yield window


@pytest.fixture
def compared(open_sweep, qtbot):
    """The positions of both runs with those of M1 and M6, as if nobody had looked at them yet."""
    person = Person(qtbot, open_sweep)
    person.until(lambda: len(person.controller.comparison.runs) == 2)
    person.window.show_task(COMPARE)
    view = person.window.compare
    view.tabs.choose(OVERLAY)
    person.controller.set_angle_unit(RADIANS)
    person.controller.comparison.choose((M1, M6))
    choose(view.overlay.channel, "position")
    choose(view.overlay.below, ERROR)
    settle(person)
    view.plots.fit()
    return person


def settle(person):
    comparison = person.controller.comparison
    person.until(lambda: comparison.picture.overlays is not None and not comparison.waiting)
    person.until(lambda: comparison.picture.channel == comparison.channel)


def recordings(person):
    return Session.open(person.controller.library.path).load_all()


def choose(box, data):
    box.setCurrentIndex(box.findData(data))


def seen(chart, name):
    return next((curve for curve in chart.seen() if curve.name == name), None)


def test_every_recorded_channel_can_be_shown(compared):
    tab = compared.window.compare.overlay
    offered = [tab.channel.itemData(place) for place in range(tab.channel.count())]
    assert offered == [channel.name for channel in CHANNELS if channel.name != "time"]
    run, plots = recordings(compared)[0], tab.plots
    model = compared.controller.model_list.entry(M6)
    for name, axis, factor in (("velocity", ("Velocity", "°/s"), DEGREES.per_radian), ("current", ("Current", "A"), 1)):
        choose(tab.channel, name)
        settle(compared)
        compared.controller.set_angle_unit(DEGREES)
        cell = plots.shown[run.id]
        assert cell.overlay.left == axis
        np.testing.assert_allclose(seen(cell.overlay, "measured").y, run.channels[name] * factor)
        simulated = getattr(simulate_recording(model.model, run), name)
        drawn = seen(cell.overlay, model.title).y
        np.testing.assert_allclose(drawn, simulated * factor)
        error = seen(cell.residual, model.title).y
        np.testing.assert_allclose(error, (simulated - on_grid(run)[0].channels[name]) * factor, atol=1e-9)


def test_a_simulation_that_is_there_before_the_runs_are_read_is_drawn_with_them(compared):
    controller, tab, read = compared.controller, compared.window.compare.overlay, threading.Event()
    controller.background.submit("session", read.wait)
    with compared.qtbot.waitSignal(controller.comparison.errors_changed):
        choose(tab.channel, "velocity")
    assert controller.comparison.waiting
    read.set()
    settle(compared)
    assert seen(tab.plots.cells[0].overlay, "measured") is not None
    assert seen(tab.plots.cells[0].overlay, controller.model_list.entry(M6).title) is not None


def test_what_is_awaited_is_said_in_the_place_of_the_curves(person, swept, tmp_path):
    """First that the runs are read, then what the compute process does, in the plots and above them."""
    person.window.show_task(COMPARE)
    view, read, simulate = person.window.compare, threading.Event(), threading.Event()
    controller = person.controller
    cell, note = view.plots.cells[0], view.head.note
    controller.library.opened.connect(lambda: controller.background.submit("session", read.wait))
    controller.background.submit("compute", simulate.wait)
    person.open(shutil.copytree(swept, tmp_path / "swept"))
    person.until(lambda: controller.comparison.waiting)
    said = cell.overlay.empty_text, cell.residual.empty_text
    read.set()
    person.until(lambda: not cell.overlay.is_empty)
    controller.compute.doing = "simulating run 1 of 2 with M6"
    person.until(lambda: cell.residual.empty_text == note.text() == "Simulating run 1 of 2 with M6…")
    controller.compute.doing = ""
    simulate.set()
    settle(person)
    assert said == ("Reading the runs…", "Reading the runs…")
    assert (cell.residual.is_empty, note.text()) == (False, "")


def test_what_is_not_simulated_is_said_where_it_would_be(compared):
    tab = compared.window.compare.overlay
    choose(tab.channel, "temperature")
    settle(compared)
    assert seen(tab.plots.cells[0].overlay, "measured") is not None
    assert tab.plots.cells[0].residual.is_empty
    assert "do not simulate temperature" in tab.plots.cells[0].residual.empty_text


def test_measured_motion_is_seen_without_any_model_and_a_file_is_one_more(compared, tmp_path):
    """What is switched off in the legend stays off when other runs are chosen."""
    view, comparison = compared.window.compare, compared.controller.comparison
    plots = view.plots
    assert set(plots.keys) == {"goal", "measured", M1, M6}
    radians = plots.curve("measured").getOriginalDataset()[1]
    compared.controller.set_angle_unit(DEGREES)
    np.testing.assert_allclose(plots.curve("measured").getOriginalDataset()[1], np.degrees(radians))
    plots.legend.buttons[M1].setChecked(False)
    assert not plots.curve(M1).isVisible()
    compared.window.session.select([compared.controller.library.runs[1].id])
    compared.until(lambda: len(comparison.picture.recordings) == 1 and not comparison.waiting)
    assert not plots.curve(M1).isVisible()
    plots.legend.buttons[M1].setChecked(True)
    compared.window.session.select([])
    for box in view.boxes.values():
        box.setChecked(False)
    compared.until(lambda: len(comparison.picture.recordings) == 2 and comparison.chosen == ())
    assert set(plots.keys) == {"goal", "measured"}
    file = tmp_path / "mine.json"
    file.write_text(load_model("mx106", "m4").to_json_text(), "utf-8")
    compared.controller.open_model(file)
    compared.until(lambda: not comparison.waiting and comparison.picture.overlays is not None)
    assert f"file:{file}" in view.boxes
    assert f"file:{file}" in plots.keys
    compared.controller.open_model(tmp_path / "missing.json")
    assert "missing.json" in compared.message


def test_two_models_are_subtracted(compared):
    tab, run = compared.window.compare.overlay, recordings(compared)[0]
    choose(tab.below, DIFFERENCE)
    one, other = (load_model("mx106", name) for name in ("m1", "m6"))
    gap = 1e3 * (simulate_recording(one, run).position - simulate_recording(other, run).position)
    titles = [compared.controller.model_list.entry(key).title for key in (M1, M6)]
    drawn = seen(tab.plots.cells[0].residual, f"{titles[0]} − {titles[1]}")
    np.testing.assert_allclose(drawn.y, gap)
    means = [
        np.abs(simulate_recording(one, r).position - simulate_recording(other, r).position)
        for r in recordings(compared)
    ]
    shown = float(tab.difference.text().removeprefix("Mean absolute difference ").removesuffix(" mrad"))
    assert shown == pytest.approx(1e3 * np.mean(np.concatenate(means)), rel=0.01)
    choose(tab.pair[1], M1)
    assert tab.plots.cells[0].residual.is_empty
    assert "two" in tab.plots.cells[0].residual.empty_text
    choose(tab.pair[1], M6)


def test_the_spectrum_is_that_of_the_error(compared):
    tab = compared.window.compare.overlay
    choose(tab.below, SPECTRUM)
    runs, model = recordings(compared), load_model("mx106", "m6")
    errors = [simulate_recording(model, run).position - on_grid(run)[0].position for run in runs]
    frequency, density = amplitude_density(errors, [on_grid(run)[1] for run in runs])
    drawn = seen(tab.plots.spectrum, compared.controller.model_list.entry(M6).title)
    assert tab.plots.spectrum.left == ("Error", "mrad/√Hz")
    np.testing.assert_allclose(drawn.x, frequency)
    np.testing.assert_allclose(drawn.y, 1e3 * density, rtol=1e-6)
    assert [panel.bottom for panel in tab.tools.export.contents().panels if panel][-1] == "Frequency [Hz]"


def test_a_picture_has_the_runs_side_by_side_as_on_the_page(compared):
    tab = compared.window.compare.overlay
    choose(tab.below, ERROR)
    contents, cells = tab.tools.export.contents(), list(tab.plots.shown.values())
    assert contents.columns == len(cells) == 2, "both fit beside each other"
    titles = [cell.overlay.belongs_to for cell in cells]
    assert [panel.of for panel in contents.panels] == [*titles, *titles]
    assert [panel.left for panel in contents.panels] == ["Position [rad]"] * 2 + ["Error [mrad]"] * 2
    figure = plot_figure(contents)
    assert [axes.get_title(loc="left") for axes in figure.axes] == [*titles, "", ""]
    assert [axes.get_ylabel() for axes in figure.axes] == ["Position [rad]", "", "Error [mrad]", ""]
    tab.plots.show_run(cells[1].run)
    contents = tab.tools.export.contents()
    assert (contents.columns, [panel.of for panel in contents.panels]) == (1, [titles[1]] * 2)
    tab.plots.show_run("")


def test_a_sweep_has_a_response_and_another_motion_a_reason(compared):
    view, (sweep, slow) = compared.window.compare, recordings(compared)
    compared.click(view.tabs.buttons[RESPONSE])
    tab = view.response
    assert tab.run.currentData() == sweep.id
    compared.until(lambda: seen(tab.magnitude, "measured") is not None)
    grid, step = on_grid(sweep)
    for name, position in (
        ("measured", grid.position),
        (
            compared.controller.model_list.entry(M6).title,
            simulate_recording(load_model("mx106", "m6"), sweep).position,
        ),
    ):
        expected = frequency_response(grid.goal_position, position, step)
        for chart, values in ((tab.magnitude, expected.magnitude), (tab.phase, expected.phase)):
            drawn = seen(chart, name)
            np.testing.assert_allclose(drawn.x, expected.frequency)
            np.testing.assert_allclose(drawn.y, values)
    assert all(panel.log_bottom for panel in tab.tools.export.contents().panels)
    assert [chart.left for chart in (tab.magnitude, tab.phase)] == [("Magnitude", "dB"), ("Phase", "°")]
    choose(tab.run, slow.id)
    compared.until(lambda: tab.magnitude.empty_text == NO_BAND)
    assert tab.magnitude.is_empty
    assert not tab.phase.isVisible()
    choose(tab.run, sweep.id)


def test_the_pendulum_is_played_and_scrubbed(compared):
    tab, run = compared.window.compare.overlay, recordings(compared)[1]
    compared.click(tab.play_button)
    compared.click(tab.plots.shown[run.id].title)
    assert list(tab.plots.shown) == [run.id]
    tab.playback.move_to(2.0)
    bench, angles = tab.plots.at(2.0)
    assert bench == run.bench
    assert angles["measured"] == pytest.approx(np.interp(2.0, run.time - run.time[0], run.position))
    model = compared.controller.model_list.entry(M6).model
    simulated = simulate_recording(model, run)
    assert angles[M6] == pytest.approx(np.interp(2.0, simulated.time - simulated.time[0], simulated.position))
    theme = load_theme("light")
    assert (angles[M6], theme.model("m6")) in tab.playback.pendulum.others
    assert tab.playback.moment.text() == f"{2.0:.2f} s   {angles['measured']:.3f} rad".replace("-", "−")
    compared.click(tab.playback.button)
    compared.until(lambda: tab.playback.time > 2.2)
    compared.click(tab.playback.button)
    assert tab.playback.button.text() == "▶ Play"
    end = run.duration
    tab.playback.move_to(end - 0.1)
    compared.click(tab.playback.button)
    compared.until(lambda: tab.playback.time == end and not tab.playback.button.isChecked())
    assert tab.plots.at(end + 0.1) == (None, {})
    compared.click(tab.plots.shown[run.id].title)
    compared.click(tab.play_button)


def test_what_is_not_zoomed_fits_the_simulation_too(compared):
    view = compared.window.compare
    chart, other = (cell.overlay for cell in view.plots.shown.values())
    low, high = chart.view.viewRange()[1]
    curves = [curve.y[np.isfinite(curve.y)] for plot in (chart, other) for curve in plot.seen()]
    assert low < min(y.min() for y in curves)
    assert high > max(y.max() for y in curves)
    chart.view.setXRange(1.0, 2.0, padding=0.0)
    chart.view.sigRangeChangedManually.emit([True, False])
    moved = chart.view.viewRange()
    assert view.plots.cells[0].residual.view.viewRange()[0] == moved[0]
    compared.until(lambda: other.view.viewRange() == moved)  # the plots of all runs move together once they rest
    compared.click(view.boxes[M1])
    settle(compared)
    view.grab()
    assert view.tabs.current == OVERLAY
    assert chart.view.viewRange()[0] == pytest.approx([1.0, 2.0])


def test_cursors_are_named_on_every_run_and_leave_room_for_all_of_them(compared):
    """Beside the readout the runs are arranged again, not cut."""
    view = compared.window.compare
    button, bar = view.overlay_tools.cursor_button, view.plots._scroll.horizontalScrollBar()
    button.setChecked(True)
    compared.until(lambda: view.overlay_tools.readout.isVisible() and not bar.maximum())
    named = [
        [isinstance(part, pg.InfLineLabel) for line in lines for part in line.childItems()]
        for lines in view.overlay_tools.cursors._lines
    ]
    button.setChecked(False)
    assert named[:4] == [[True, True], [], [True, True], []]


def test_lines_are_plain_while_a_plot_is_moved(qtbot):
    chart = Chart("chart", "Position", "rad", bottom="Time [s]")
    qtbot.addWidget(chart)
    curve = chart.add_curve(title="measured")
    curve.setPen(pen("#000000", 3.0))
    curve.setData(np.arange(10.0), np.arange(10.0))
    chart.resize(400, 300)
    chart.show()
    qtbot.waitExposed(chart)
    place = QPointF(200, 150)
    wheel = QWheelEvent(place, place, QPoint(), QPoint(0, 120), Qt.MouseButton.NoButton,
                        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False)  # fmt: skip
    before = chart.view.viewRange()[0]
    QApplication.sendEvent(chart.viewport(), wheel)
    assert chart.view.viewRange()[0] != before
    assert (curve.curve.opts["pen"].width(), curve.curve.opts["antialias"]) == (1, False)
    assert chart.seen()[0].width == 3.0
    qtbot.waitUntil(lambda: curve.curve.opts["pen"].width() == 3 and curve.curve.opts["antialias"])


def test_an_empty_plot_has_no_axes(qtbot):
    chart = Chart("chart", "Position", "rad", bottom="Time [s]")
    qtbot.addWidget(chart)
    theme = load_theme("light")
    chart.empty_text = ""
    chart.resize(400, 300)
    chart.show()

    def colours():
        image = chart.viewport().grab().toImage()
        return {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}

    paper = QColor(theme.plot).name()
    assert colours() == {paper}
    curve = chart.add_curve()
    curve.setData([0.0, 1.0], [np.nan, np.nan])
    assert colours() == {paper}
    chart.vertical_line(0.5)
    assert colours() == {paper}
    curve.setData([0.0, 1.0], [0.0, 1.0])
    assert len(colours()) > 10
