"""The small parts that need no window: fewer points, round ticks, numbers as a person reads them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtWidgets import QApplication

from bench_gui.headless.symbols import printed
from bench_gui.plots.axes import LogAxis
from bench_gui.plots.chart import Chart, pen, show_live
from bench_gui.plots.decimate import min_max
from bench_gui.plots.export import gather, on_paper
from bench_gui.record.live import LiveRun
from bench_gui.render.paper import plot_figure, save_plot
from bench_gui.theme import load_theme
from core.base.errors import InputError
from core.base.units import duration, fixed, milliradians, significant
from core.document.plot import BarPanel, BarSeries, CurvePanel, HeatPanel, Plot, PlotCurve, mixed
from core.document.table import Table
from core.servo.terms import FRICTION_MODELS
from drivers.recorder.run import LIVE_DTYPE, Phase


@given(st.integers(0, 5000), st.integers(1, 400), st.integers(0, 2**32 - 1))
def test_decimation_keeps_the_extremes_and_the_order(n, columns, seed):
    x = np.arange(float(n))
    y = np.random.default_rng(seed).normal(size=n)
    few_x, few_y = min_max(x, y, columns)
    assert len(few_x) == len(few_y) <= 2 * columns + -(-n // columns)
    assert np.all(np.diff(few_x) >= 0)
    if n:
        assert (few_y.min(), few_y.max(), few_x[-1]) == (y.min(), y.max(), x[-1])
        np.testing.assert_array_equal(few_y, y[few_x.astype(int)])


def test_a_plane_in_a_window_made_low_shows_its_whole_path(qtbot):
    plane = Chart("Path", "z", "m", bottom="x [m]")
    qtbot.addWidget(plane)
    plane.view.setAspectLocked(True)
    turn = np.linspace(0.0, 2.0 * np.pi, 100)
    plane.add_curve().setData(np.cos(turn), np.sin(turn))
    plane.fit()
    plane.show()
    for size in ((320, 300), (300, 140)):
        plane.resize(*size)
        for _ in range(2):
            plane.grab()
            QApplication.processEvents()
    assert all(low < -1.0 and high > 1.0 for low, high in plane.view.viewRange())


def test_a_live_run_keeps_only_samples_of_the_run():
    run = LiveRun()
    rows = np.zeros(6000, LIVE_DTYPE)
    rows["time"] = np.arange(6000) / 200.0
    rows["position"] = np.arange(6000)
    rows["phase"] = Phase.RUN
    rows["phase"][:100] = Phase.APPROACH
    rows["time"][200:210] = np.nan
    assert run.take(rows)
    assert run.count == 6000 - 100 - 10
    assert run.column("position")[[0, -1]].tolist() == [100.0, 5999.0]
    assert not run.take(rows[:50])
    run.clear()
    assert run.count == 0


@pytest.mark.parametrize(("low", "high"), [(5.0, 9.0), (1.0, 1000.0), (27.2, 27.9), (0.002, 40.0)])
def test_a_logarithmic_axis_has_round_ticks(qapp, low, high):
    axis = LogAxis("left")
    ((_, ticks),) = axis.tickValues(math.log10(low), math.log10(high), 300)
    assert 1 <= len(ticks) <= 14
    texts = axis.tickStrings(ticks, 1.0, 1.0)
    assert all(low * 0.99 <= float(text) <= high * 1.01 for text in texts)
    assert len(set(texts)) == len(texts)


def test_numbers_are_said_with_their_units():
    assert fixed(-0.5, 2, "rad") == "−0.50 rad"
    assert fixed(math.nan, 2, "rad") == "–"
    assert [significant(v) for v in (0.0, 2.2846, 0.024, -1234.5, 1.5e-7)] == [
        "0",
        "2.285",
        "0.02400",
        "−1234",
        "1.500e−07",
    ]
    assert [milliradians(v) for v in (None, 0.00522, 0.0456)] == ["–", "5.22", "45.6"]
    spans = {6.0: "6.0 s", 42.4: "42 s", 200.0: "3 min 20 s", 7300.0: "2 h 01 min", math.inf: "–"}
    assert {span: duration(span) for span in spans} == spans


def test_symbols_are_printed_as_in_the_papers():
    assert printed("K_c^s") == "K<sub>c</sub><sup>s</sup>"
    assert printed("k_t, θ₀") == "k<sub>t</sub>, θ₀"
    assert printed("<b>") == "&lt;b&gt;"


def curve(x, y, **more):
    return PlotCurve("curve", np.asarray(x, dtype=float), np.asarray(y, dtype=float), "#123456", **more)


def test_a_curve_is_read_between_its_points_and_not_in_its_gaps():
    one = curve([0.0, 1.0, 2.0, 3.0], [0.0, 10.0, math.nan, 30.0])
    assert [one.at(x) for x in (0.0, 0.25, 1.0, 3.0)] == [0.0, 2.5, 10.0, 30.0]
    assert all(math.isnan(one.at(x)) for x in (-0.1, 1.5, 2.5, 3.1))
    assert math.isnan(curve([], []).at(0.0))


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=50, unique=True), st.floats(-110, 110))
def test_a_reading_agrees_with_straight_lines(x, place):
    x = np.sort(x)
    y = np.cos(x)
    found = curve(x, y).at(place)
    if x[0] <= place <= x[-1]:
        assert found == pytest.approx(np.interp(place, x, y), abs=1e-9)
    else:
        assert math.isnan(found)


def panel(*curves, left="Position [rad]", bottom="Time [s]"):
    return CurvePanel(left, bottom, (0.0, 1.0), (-1.0, 1.0), curves)


def test_numbers_of_a_plot_share_a_column_only_where_they_share_it(tmp_path):
    shared = [0.1, 0.2, 0.3]
    contents = Plot(
        "t",
        (
            panel(curve(shared, [1.0, math.nan, 3.0]), curve(shared, [4.0, math.nan, 6.0]), bottom=""),
            panel(curve([0.15], [1.0 / 3.0]), left="Error [mrad]"),
        ),
    )
    text = save_plot(contents, tmp_path / "deep" / "a.csv").read_text("utf-8")
    assert text.splitlines() == [
        "Time [s],curve: Position [rad],curve: Position [rad],Time [s],curve: Error [mrad]",
        f"0.1,1.0,4.0,0.15,{1.0 / 3.0!r}",
        "0.3,3.0,6.0,,",
    ]


def test_a_plot_that_cannot_be_written_is_said(tmp_path):
    contents = Plot("t", (panel(curve([0.0], [1.0])),))
    with pytest.raises(InputError, match="endings"):
        save_plot(contents, tmp_path / "a.bmp")
    with pytest.raises(InputError, match="empty"):
        save_plot(Plot("t", ()), tmp_path / "a.svg")
    with pytest.raises(InputError, match=r"table is written as \.csv"):
        save_plot(Plot("t", (Table(("a",), ((1.0,),)),)), tmp_path / "a.png")


@pytest.mark.parametrize("ending", [".svg", ".png", ".pdf", ".csv"])
def test_every_kind_of_panel_can_be_written(tmp_path, ending):
    bars = BarPanel(
        "Error [mrad]", "Mass [kg]", ("0.5\n1 run", "1\n2 runs"), (BarSeries("M1", "#bf4a00", (1.0, math.nan)),)
    )
    heat = HeatPanel("Mass [kg]", "Gain kp", ("1", "2"), ("8",), np.array([[1.0], [math.nan]]), "M1: error [mrad]")
    points = curve([0.2, 0.8], [0.1, 0.2], width=0.0, marker="t1")
    for number, one in enumerate((panel(curve([0.0, 1.0], [0.0, 1.0], dash=(4.0, 2.0)), points), bars, heat)):
        assert save_plot(Plot("title", (one,)), tmp_path / f"{number}{ending}").stat().st_size > 10


def test_panels_side_by_side_share_a_legend_and_keep_their_axes():
    x, y = np.array([1.0, 10.0]), np.array([0.1, 1.0])
    level = PlotCurve("level", x, y, "goal", legend="", note="F_S $1")
    left = CurvePanel("torque / N·m", "time / s", None, (0.0, 2.0), (PlotCurve("M2", x, y, "m2"), level), title="Φ_Z")
    right = CurvePanel("", "step / ms", (1.0, 20.0), None, (PlotCurve("M2", x, y, "m2"),), log=True, log_bottom=True)
    figure = plot_figure(Plot("", (left, right), columns=2))
    figure.draw_without_rendering()
    one, other = figure.axes
    assert (one.get_xscale(), other.get_xscale(), other.get_yscale()) == ("linear", "log", "log")
    assert (one.get_ylim(), other.get_xlim()) == ((0.0, 2.0), (1.0, 20.0))
    assert "10" in [text.get_text() for text in other.get_xticklabels()]
    assert (one.get_title(loc="left"), one.texts[0].get_text()) == ("$Φ_{Z}$", "$F_{S}$ \\$1")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["M2"]


def test_colours_on_paper_are_those_of_the_light_theme():
    light, dark = load_theme("light"), load_theme("dark")
    for friction in FRICTION_MODELS:
        assert on_paper(dark.model(friction).lower()) == light.model(friction)
        assert on_paper(light.model(friction).lower()) == light.model(friction)
    assert (on_paper(dark.measured), on_paper(dark.goal)) == (light.measured, light.goal)
    assert on_paper("#123456") == "#123456"
    assert (mixed("#000000", "#ffffff", 0.0), mixed("#000000", "#ffffff", 1.0)) == ("#000000", "#ffffff")


def test_a_logarithmic_chart_is_exported_in_its_own_values(qtbot):
    chart = Chart("Cost", "Error", "mrad", bottom="Evaluations", log=True)
    qtbot.addWidget(chart)
    drawn = chart.add_curve(title="M1")
    drawn.setPen(pen(load_theme("light").models[0]))
    drawn.setData(np.array([1.0, 2.0, 3.0]), np.log10([100.0, 10.0, 5.0]))
    chart.view.setXRange(0.5, 2.5, padding=0.0)
    (found,) = gather([chart], "t").panels
    np.testing.assert_allclose(found.curves[0].y, [100.0, 10.0])
    assert found.log
    assert (found.left, found.bottom) == ("Error [mrad]", "Evaluations")


def test_a_live_curve_is_read_at_full_resolution(qtbot):
    chart = Chart("Live", "Position", "rad", bottom="Time [s]")
    qtbot.addWidget(chart)
    x = np.linspace(0.0, 1.0, 2000)
    live = chart.add_live_curve(title="measured", source=lambda: (x, np.sin(x)))
    chart.add_live_curve()
    show_live(live, *min_max(x, np.sin(x), 50))
    (seen,) = chart.seen()
    assert len(seen.x) == 2000
    live.setVisible(False)
    assert chart.seen() == []


@pytest.mark.parametrize("log", [False, True])
def test_the_numbers_of_the_axes_follow_the_range(qtbot, log):
    def chart(*ranges):
        made = Chart("chart", "Error", "mrad", bottom="Time [s]", log=log)
        qtbot.addWidget(made)
        made.resize(400, 200)
        made.add_curve().setData([0.0, 100.0], [0.0, 1.0])
        for x, y in ranges:
            made.view.setRange(xRange=x, yRange=y, padding=0.0)
            shown = made.grab().toImage()
        return shown

    before, after = ((0.0, 1.0), (0.0, 1.0)), ((20.0, 60.0), (-3.0, 2.0))
    assert chart(before, after) == chart(after)
    assert chart(before) != chart(after)


def test_an_automatic_range_rests_once_it_fits(qtbot):
    """Pens and titles count in pixels: ranges that follow them to the last digit move linked charts for ever."""
    chart = Chart("chart", "Position", "rad", bottom="Time [s]")
    qtbot.addWidget(chart)
    chart.resize(400, 200)
    chart.add_curve().setData([0.0, 100.0], [0.0, 1.0])
    chart.fit()
    chart.view.updateAutoRange()
    low, high = chart.view.viewRange()[0]
    span = high - low
    chart.view.setRange(xRange=(low - 0.002 * span, high), padding=0.0, disableAutoRange=False)
    assert chart.view.viewRange()[0] == [low, high]
    chart.view.setRange(xRange=(low - 0.02 * span, high), padding=0.0, disableAutoRange=False)
    assert chart.view.viewRange()[0] == pytest.approx([low - 0.02 * span, high])
    chart.view.setXRange(low, high, padding=0.0)
    assert chart.view.viewRange()[0] == pytest.approx([low, high])
