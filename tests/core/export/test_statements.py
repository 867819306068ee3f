"""What an export says of its own error: one statement, measured against the model as it was identified."""

import re

import numpy as np
import pytest

from core.catalogue import load_model
from core.export import approximation, export_model
from core.export.files import README
from core.export.grid import bench_grid, converged_positions, default_bench
from core.model import with_contact

MODEL = with_contact(load_model("mx106", "m6"), "elastoplastic")
EXACT = "Nothing is approximated"


@pytest.fixture(autouse=True)
def hardly_refitted(monkeypatch):
    approximation._approximate.cache_clear()
    for name in ("GENERATIONS_OF_FRICTION", "GENERATIONS_OF_ALL"):
        monkeypatch.setattr(approximation, name, 1)
    yield
    approximation._approximate.cache_clear()


@pytest.mark.parametrize(
    ("target", "options"),
    [("drake", {}), ("genesis", {}), ("webots", {}), ("bam", {}), ("mujoco", {}), ("usd", {}), ("urdf", {}),
     ("genesis", {"drive": "plain"})],
)  # fmt: skip
def test_a_contact_that_is_lost_is_in_the_stated_error(tmp_path, target, options):
    result = export_model(MODEL, target, tmp_path, **options)
    readme = (tmp_path / README).read_text("utf-8")
    rigid = with_contact(MODEL, "rigid")
    lost = np.mean(
        [
            np.abs(converged_positions(MODEL, run) - converged_positions(rigid, run)).mean()
            for run in bench_grid(default_bench(MODEL), MODEL.default_settings())
        ]
    )
    assert EXACT not in readme
    assert "contact" in readme
    stated = [float(number) for number in re.findall(r"([0-9.]+) mrad on average", " ".join(result.notes))]
    assert stated == [pytest.approx(result.error_mrad, abs=0.006)]
    if target in ("drake", "webots") or (target == "genesis" and not options):
        assert result.error_mrad == pytest.approx(1e3 * lost)
        assert result.error_mrad > 1.0


@pytest.mark.parametrize("target", ["mujoco-hook", "mjlab", "isaaclab", "c"])
def test_a_contact_that_is_held_costs_nothing(tmp_path, target):
    result = export_model(MODEL, target, tmp_path)
    assert result.error_mrad == 0.0
    assert (tmp_path / README).read_text("utf-8").count(EXACT) == 1
    assert sum(EXACT in note for note in result.notes) == 1
