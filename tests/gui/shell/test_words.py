"""Counts and symbols as they are read, and pictures that keep their colours."""

from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from PySide6.QtGui import QImage

from bench_gui.fleet.view import FleetView
from bench_gui.headless.symbols import all_symbols, mathtext, with_symbols
from core.base.words import counted
from core.motion.trajectories import make_trajectory
from drivers.errors import CommandError
from drivers.recorder.run import RunPlan
from tests.gui.make_screenshots import save_picture


def test_one_is_counted_as_one():
    """In a refusal and in the window."""
    counts = [(counted(count, "run"), counted(count, "search", "searches")) for count in (0, 1, 2)]
    assert counts == [("0 runs", "0 searches"), ("1 run", "1 search"), ("2 runs", "2 searches")]
    with pytest.raises(CommandError, match="has 1 sample at 10 Hz"):
        RunPlan.sample(make_trajectory("sin_sin", 0.1), 10)
    unit = SimpleNamespace(problem="", damage="")
    summary = SimpleNamespace(units=[unit], servo="mx106", done=0, tasks=1, problems=[])
    running = SimpleNamespace(reading=SimpleNamespace(active=False), active=False, stopped=False, summary=summary)
    assert FleetView._state_in_words(SimpleNamespace(running=running)) == "1 unit of mx106; 0 of 1 fit"


def test_symbols_of_a_sentence_are_set_and_other_words_are_not():
    text = with_symbols("K_m^q and K_c lie at 0 in run my_K_c_v2 of <sin_sin>")

    assert text == "K<sub>m</sub><sup>q</sup> and K<sub>c</sub> lie at 0 in run my_K_c_v2 of &lt;sin_sin&gt;"
    assert {"K_c^s", "K_e^q", "k_t", "v_s", "J_m"} <= set(all_symbols())
    assert (mathtext("K_m^q"), mathtext("α"), mathtext("R")) == ("$K_{m}^{q}$", "α", "R")


def test_a_picture_of_the_help_keeps_every_colour(tmp_path):
    """4096 shades: a palette of 256 would merge the pale lines of two joints in a legend."""
    shades = np.stack(np.meshgrid(np.arange(64), np.arange(64), [7], indexing="ij"), -1).astype(np.uint8)[:, :, 0]
    picture = QImage(np.ascontiguousarray(shades).data, 64, 64, 3 * 64, QImage.Format.Format_RGB888)
    save_picture(picture, tmp_path / "a.png")

    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "a.png").convert("RGB")), shades)
