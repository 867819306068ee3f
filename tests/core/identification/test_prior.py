"""A prior: what the runs leave open stays where the search began, what they determine does not."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from core.identification.identify import IdentificationRequest, identify
from core.identification.request import search_template
from core.identification.search.prior import Prior
from core.motion.recording import Recording
from core.servo.bench import Bench
from core.servo.model import ServoModel, build_model
from tests.core.conftest import recorded

SERVO = "xl330"


def truth() -> ServoModel:
    model = build_model(SERVO, "m1")
    return model.with_values({"friction_base": 0.02, "armature": 0.002})


def recordings() -> list[Recording]:
    return [recorded(truth(), "sin_sin", Bench(mass=mass, length=0.1), 400.0) for mass in (0.1, 0.2)]


@pytest.mark.parametrize("share", [0.0, 0.25])
def test_it_costs_the_square_of_the_distance_in_catalogue_intervals(share: float) -> None:
    """0.03 rad, and a share of the error so that its logarithm grows by the same square."""
    model = truth()
    assert Prior.about(model, 0.0, runs=2).share == 0.25
    prior = replace(Prior.about(model, 0.03, runs=2), share=share)
    names = [p.name for p in model.parameters.free]
    moved = model.parameters.vector()
    place = names.index("R")
    moved[place] += 0.5 * prior.widths["R"]
    candidates = np.array([model.parameters.vector(), moved, model.parameters.vector()])
    penalised = prior.penalised(np.array([0.01, 0.01, math.inf]), names, candidates)
    assert penalised == pytest.approx([0.01, 0.01 * math.exp(share * 0.25) + 0.03 * 0.25, math.inf])
    curvature, slope = prior.equations(names, moved, 0.01)
    assert curvature == pytest.approx(np.full(len(names), 0.06 + 0.02 * share))
    assert slope[place] == pytest.approx(0.03 + 0.01 * share)
    assert np.count_nonzero(slope) == 1


@pytest.mark.parametrize("prior", [0.0, 1e-3])
def test_what_runs_leave_open_stays_and_what_they_determine_moves(prior: float) -> None:
    """Nothing is released, so that β is open."""
    asked = {"servo": SERVO, "models": ("m1",), "trials": 2000, "validation": "none", "threads": 1}
    asked["command_path"] = ("release_braking",)
    request = IdentificationRequest(**asked, prior=prior)  # type: ignore[arg-type]
    began, held = search_template(request, "m1").values, identify(request, recordings()).results[0].model.values
    assert held["release_braking"] == pytest.approx(began["release_braking"], abs=1e-3)
    assert abs(held["friction_base"] - 0.02) < 0.05 * abs(began["friction_base"] - 0.02)
