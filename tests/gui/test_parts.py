"""The small parts that need no window: fewer points, round ticks, numbers as a person reads them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_gui.plots.axes import LogAxis
from bench_gui.plots.decimate import min_max
from bench_gui.record.live import LiveRun
from bench_gui.units import duration, fixed, milliradians, significant
from bench_gui.widgets.symbols import printed
from drivers.recorder.run import LIVE_DTYPE, Phase


@given(st.integers(0, 5000), st.integers(1, 400), st.integers(0, 2**32 - 1))
def test_decimation_keeps_the_extremes_and_the_order(n, columns, seed):
    x = np.arange(float(n))
    y = np.random.default_rng(seed).normal(size=n)
    few_x, few_y = min_max(x, y, columns)
    assert len(few_x) == len(few_y) <= 2 * columns + -(-n // columns)
    assert np.all(np.diff(few_x) >= 0)
    if n:
        assert (few_y.min(), few_y.max()) == (y.min(), y.max())
        np.testing.assert_array_equal(few_y, y[few_x.astype(int)])


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
