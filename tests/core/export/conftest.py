"""Checks of exports run under the export's own load and gain alone, and refits are short where a test asks for it."""

from contextlib import contextmanager

import pytest

from core.export import approximation
from core.export.drives import carrying
from core.export.references import bench_grid, held_back_grid


@pytest.fixture(autouse=True)
def own_condition_alone(monkeypatch):
    monkeypatch.setattr("core.export.protocol.CONDITIONS", {"": (1.0, 1.0)})


@contextmanager
def short_refits():
    """Search for one generation, over two runs of the grid, and leave out what the identification's step costs.

    For tests of what is written, not of how well it is fitted.
    """
    approximation._approximate.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("GENERATIONS_OF_FRICTION", "GENERATIONS_OF_ALL"):
            patch.setattr(approximation, name, 1)
        patch.setattr(approximation, "SEEDS", (1,))
        patch.setattr("core.export.exporting.step_notes", lambda *_: [])
        patch.setattr(approximation, "bench_grid", lambda *bench: bench_grid(*bench)[:2])
        for module in (approximation, carrying):
            patch.setattr(module, "held_back_grid", lambda *bench: held_back_grid(*bench)[:1])
        yield
    approximation._approximate.cache_clear()


@pytest.fixture
def hardly_refitted():
    with short_refits():
        yield
