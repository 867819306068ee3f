"""Planted terms that the runs choose by default are found, and not where there are none."""

from dataclasses import replace

import pytest

from core.base.errors import IdentificationError
from core.identification.coverage.excitation import excitation_of, excitation_of_all
from core.identification.coverage.grid import grid_of_conditions
from core.identification.coverage.terms import term_verdicts
from core.identification.identify import identify
from core.identification.request import IdentificationRequest
from core.servo.bench import Bench
from tests.core.conftest import PENDULUM, catalogue_model, recorded

RUNS = [("sin_sin", 8.0), ("up_and_down", 16.0), ("sin_time_square", 16.0), ("lift_and_drop", 8.0)]
BENCHES = (PENDULUM, Bench(mass=1.5, length=0.2))
REQUEST = IdentificationRequest(servo="mx106", models=("m1", "m3"), validation="none", trials=1500, threads=1)


def planted(time, runs=RUNS, benches=BENCHES):
    """Runs of a servo with this memory and 12-bit noise."""
    truth = catalogue_model(
        "mx106", "m3", command_path=("load_memory",), values={"load_memory": time, "load_friction_base": 0.25}
    )
    return [
        recorded(truth, name, kp=kp, bench=bench, duration=4.0, noise=4e-4, seed=place)
        for place, (name, kp) in enumerate(runs)
        for bench in benches
    ]


def verdict(runs):
    model = catalogue_model("mx106", "m3", command_path=("load_memory",))
    seen = excitation_of_all([excitation_of(run) for run in runs])
    found = {v.name: v for v in term_verdicts(model.parameters, seen, grid_of_conditions(runs))}
    return found["load_memory"].verdict


@pytest.mark.parametrize("time", [0.1, pytest.param(0.4, marks=pytest.mark.exhaustive("a longer memory"))])
def test_a_planted_memory_is_found_without_asking(time):
    runs = planted(time)
    assert verdict(runs) == "good"

    found = identify(REQUEST, runs)

    plain, loaded = found.results
    assert (plain.model.command_path, loaded.model.command_path) == ((), ("load_memory",))
    assert found.request.command_path == ("load_memory",)
    assert "The model has the term load_memory" in found.choice
    (known,) = [p for p in loaded.evidence.parameters if p.name == "load_memory"]
    assert abs(known.value - time) < known.half_width < 0.3 * time


def test_a_servo_without_memory_gets_none():
    found = identify(REQUEST, planted(0.0))

    assert all(result.model.command_path == () for result in found.results)
    assert "has the term" not in found.choice


OFFSET_RUNS = [("sin_sin", 8.0), ("up_and_down", 8.0), ("up_and_down", 16.0), ("sin_time_square", 16.0)]


def offset(share, path=("dead_band",)):
    """Identification with a command path of the runs of a servo with this output offset."""
    truth = catalogue_model(
        "mx106", "m1", command_path=("dead_band", "output_offset"), values={"output_offset": share, "dead_band": 0.003}
    )
    runs = [
        recorded(truth, name, kp=kp, duration=4.0, noise=4e-4, seed=place)
        for place, (name, kp) in enumerate(OFFSET_RUNS)
    ]
    return identify(replace(REQUEST, models=("m1",), command_path=path), runs)


def test_a_planted_offset_of_the_output_is_found_without_asking():
    found = offset(0.02)

    (result,) = found.results
    assert result.model.command_path == ("dead_band", "output_offset")
    assert result.model.values["output_offset"] == pytest.approx(0.02, rel=0.2)
    assert "The model has the term output_offset, offset of the output: " in found.choice


def test_a_servo_without_offset_of_the_output_gets_none():
    assert offset(0.0).results[0].model.command_path == ("dead_band",)


def test_no_offset_of_the_output_is_tried_without_a_command_path():
    assert offset(0.02, path=()).results[0].model.command_path == ()


def test_models_without_friction_by_the_load_refuse_a_memory():
    with pytest.raises(IdentificationError, match="needs friction by the load: identify M3 to M6"):
        replace(REQUEST, models=("m1", "m2"), frozen=(("load_memory", 0.2),))


def test_no_memory_is_tried_with_a_given_contact():
    found = identify(replace(REQUEST, contact="rigid"), planted(0.1))

    assert found.results[-1].model.command_path == ()


def test_a_resumed_identification_finds_the_same(tmp_path):
    runs = planted(0.1)
    first = identify(REQUEST, runs, folder=tmp_path)
    again = identify(REQUEST, runs, folder=tmp_path, resume=True)

    assert again["m3"].model.values == first["m3"].model.values


def test_a_load_that_never_changes_shows_no_memory():
    """Without gravity there is no load."""
    assert verdict(planted(0.1, benches=(replace(PENDULUM, gravity=0.0),))) == "none"
