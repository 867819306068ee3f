"""An output offset and a gain ratio are found in runs at three gains, and no offset where there is none."""

import pytest

from core.identification.identify import identify
from core.identification.request import IdentificationRequest
from tests.core.conftest import catalogue_model, recorded

PATH = ("error_gain_ratio", "output_offset")
RUNS = [("sin_sin", 8.0), ("sin_sin", 32.0), ("up_and_down", 16.0), ("lift_and_drop", 8.0)]


@pytest.mark.parametrize("planted", [0.0, 0.03])
def test_a_planted_offset_is_found(planted):
    truth = catalogue_model("mx106", "m1", command_path=PATH, values={"output_offset": planted})
    runs = [recorded(truth, name, kp=kp, duration=3.0, noise=1e-3, seed=place) for place, (name, kp) in enumerate(RUNS)]
    # Duty cycle and offset have one scale, which a known motor fixes.
    motor = tuple((name, truth.values[name]) for name in ("kt", "R"))
    request = IdentificationRequest(
        servo="mx106", models=("m1",), command_path=PATH, validation="none", trials=600, frozen=motor
    )

    found = identify(request, runs).results[0].model.values

    assert found["output_offset"] == pytest.approx(planted, abs=3e-3)
    assert found["error_gain_ratio"] == pytest.approx(1.0, abs=0.05)
