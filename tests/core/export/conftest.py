"""Checks of exports run under the export's own load and gain alone, unless a test asks for more."""

import pytest


@pytest.fixture(autouse=True)
def own_condition_alone(monkeypatch):
    monkeypatch.setattr("core.export.protocol.CONDITIONS", {"": (1.0, 1.0)})
