"""Counts and symbols as they are read, and pictures that keep their colours."""

import numpy as np
import pytest
from PIL import Image
from PySide6.QtGui import QImage

from bench_gui.words import all_symbols, counted, mathtext, with_symbols
from tests.gui.make_screenshots import save_picture


@pytest.mark.parametrize(("count", "words"), [(0, "0 runs"), (1, "1 run"), (2, "2 runs")])
def test_a_count_agrees_with_its_noun(count, words):
    assert counted(count, "run") == words


def test_symbols_of_a_sentence_are_set_and_other_words_are_not():
    text = with_symbols("K_m^q and K_c lie at 0 in run my_K_c_v2 of <sin_sin>")

    assert text == "K<sub>m</sub><sup>q</sup> and K<sub>c</sub> lie at 0 in run my_K_c_v2 of &lt;sin_sin&gt;"
    assert {"K_c^s", "K_e^q", "k_t", "v_s", "J_m"} <= set(all_symbols())
    assert (mathtext("K_m^q"), mathtext("α"), mathtext("R")) == ("$K_m^q$", "α", "R")


def test_a_picture_of_the_help_keeps_every_colour(tmp_path):
    """4096 shades: a palette of 256 would merge the pale lines of two joints in a legend."""
    shades = np.stack(np.meshgrid(np.arange(64), np.arange(64), [7], indexing="ij"), -1).astype(np.uint8)[:, :, 0]
    picture = QImage(np.ascontiguousarray(shades).data, 64, 64, 3 * 64, QImage.Format.Format_RGB888)
    save_picture(picture, tmp_path / "a.png")

    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "a.png").convert("RGB")), shades)
