"""A start from a known model: expressed in the wanted model's parameters, within its bounds, part of the record."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest

from core.base.errors import IdentificationError
from core.identification.evaluate import evaluate
from core.identification.identify import IdentificationRequest, identify
from core.identification.request import search_template
from core.identification.search.start import of_variant, start_values, started
from core.motion.recording import Recording
from core.motion.simulation import simulate_recording
from core.servo.bench import Bench
from core.servo.catalogue import ServoSpec, servos
from core.servo.friction import friction_budget
from core.servo.model import ServoModel, build_model, with_contact
from core.servo.shipped import load_model
from core.servo.terms import AUTOMATIC, CONTACTS, FRICTION_MODELS, NEUTRAL
from tests.core.conftest import recorded

SERVO = "mx106"
SAMPLING = 0.005
"""Of the recordings [s]."""
PARTS = 2
"""Simulation steps between samples that make the step of a request's models: errors are compared at the same step."""


@functools.cache
def earlier(friction: str) -> ServoModel:
    """An earlier unit, with the catalogue's values and the integrator, step and equations of a request's models."""
    template = build_model(SERVO, friction)
    return template.with_values(load_model(SERVO, friction).values)


def start_of(model: ServoModel) -> tuple[tuple[str, float], ...]:
    return tuple(model.values.items())


def asked(**changes: object) -> IdentificationRequest:
    values = {"servo": SERVO, "models": ("m1",), "trials": 40, "validation": "none", "polish": False, "threads": 1}
    return IdentificationRequest(**{**values, **changes})  # type: ignore[arg-type]


@functools.cache
def recordings() -> tuple[Recording, ...]:
    """Two short runs of the M1 unit, without noise."""
    bench = Bench(mass=1.0, length=0.15)
    return tuple(
        recorded(earlier("m1"), name, bench, kp, step=SAMPLING, duration=2.0)
        for name, kp in (("sin_sin", 8.0), ("lift_and_drop", 32.0))
    )


@pytest.mark.parametrize(
    ("source", "target"), [("m1", "m6"), ("m2", "m4"), ("m3", "m4"), ("m4", "m6"), ("m5", "m6"), ("m6", "m6")]
)
def test_a_nested_model_moves_as_it_did(source: str, target: str) -> None:
    """Lifted into a richer model with a command path, a start is the same servo: the same motion to rounding."""
    request = asked(
        models=(target,), command_path=("command_delay", "pwm_lag", "release_braking"), start=start_of(earlier(source))
    )
    lifted = search_template(request, target)
    for recording in recordings():
        known, found = (simulate_recording(model, recording).position for model in (earlier(source), lifted))
        np.testing.assert_allclose(found, known, atol=1e-9)


@pytest.mark.parametrize("wanted", [AUTOMATIC, *CONTACTS])
@pytest.mark.parametrize("had", CONTACTS)
def test_a_start_may_have_another_contact(had: str, wanted: str) -> None:
    """Everything that both have starts as it was; the rational function of the speed has no exponent."""
    known = with_contact(earlier("m6").with_values({"alpha": 1.2}), had)
    found = search_template(asked(models=("m6",), contact=wanted, start=start_of(known)), "m6")
    assert found.contact == ("rigid" if wanted == AUTOMATIC else wanted)
    shared = set(known.values) & set(found.values)
    shared -= {"alpha"} if found.contact == "elastoplastic_rational" else set()
    shared -= {"bristle_damping"}  # raised as far as the friction of the wanted contact needs it
    assert {name: found.values[name] for name in shared} == {name: known.values[name] for name in shared}


def test_a_release_delayed_with_the_goal_stays_so() -> None:
    """A model without t_r delays switching the torque by t_d: so does what it is lifted into."""
    known = build_model(SERVO, "m1", command_path=("command_delay",))
    known = known.with_values({**earlier("m1").values, "command_delay": 0.02})
    request = asked(command_path=("command_delay", "release_delay"), start=start_of(known))
    lifted = search_template(request, "m1")
    assert lifted.values["release_delay"] == 0.02
    for recording in recordings():
        moved = simulate_recording(lifted, recording).position
        np.testing.assert_allclose(moved, simulate_recording(known, recording).position, atol=1e-9)


def test_two_coefficients_become_their_mean() -> None:
    start = dict(start_of(earlier("m6")))
    found = search_template(asked(models=("m4",), start=tuple(start.items())), "m4").values
    mean = 0.5 * (start["load_friction_motor"] + start["load_friction_external"])
    assert found["load_friction_base"] == pytest.approx(mean)
    assert found["friction_stribeck"] == start["friction_stribeck"]


def test_a_start_is_clipped_to_the_bounds_and_leaves_what_is_frozen() -> None:
    upper = search_template(asked(), "m1").parameters["kt"].upper
    request = asked(
        start=(("kt", 10.0 * upper), ("R", 3.0)), frozen=(("R", 2.0),), command_path=("goal_slew", "dead_band")
    )
    found = search_template(request, "m1").parameters
    assert found["kt"].value == found["kt"].upper == upper
    assert found["R"].value == 2.0
    whole = started(found, dict(start_of(earlier("m1"))))
    assert whole["goal_slew"].value == found["goal_slew"].upper < NEUTRAL["goal_slew"]
    assert whole["dead_band"].value == 0.0


def test_what_a_part_of_a_model_does_not_name_stays() -> None:
    catalogue = search_template(asked(models=("m6",), command_path=("pwm_lag",)), "m6").values
    found = search_template(asked(models=("m6",), command_path=("pwm_lag",), start=(("R", 3.0),)), "m6").values
    assert found == {**catalogue, "R": 3.0}


@pytest.mark.parametrize("friction", FRICTION_MODELS)
@pytest.mark.parametrize("ratio", [191 / 345, 1.0, 2.5])
def test_the_same_motor_behind_another_gear(friction: str, ratio: float) -> None:
    """At duty u and the same speed of the motor, the torque at the output and its friction follow N."""
    model = build_model("sts3215_7v4", friction)
    values = model.values
    known, found = values, of_variant(values, ratio)
    torque, load, speed, duty = 1.3, -0.8, np.linspace(-4.0, 4.0, 41), 0.6

    def driven(of: dict[str, float], speeds: np.ndarray) -> np.ndarray:
        return of["kt"] * (duty * model.supply_voltage - of["kt"] * speeds) / of["R"]

    np.testing.assert_allclose(driven(found, speed / ratio), ratio * driven(known, speed))
    np.testing.assert_allclose(
        friction_budget(friction, found, ratio * torque, ratio * load, speed / ratio),
        ratio * friction_budget(friction, known, torque, load, speed),
    )
    assert found["armature"] == pytest.approx(ratio**2 * known["armature"])


PAIRS = [(a, b) for a, b in itertools.permutations(servos().values(), 2) if a.is_variant_of(b)]


@pytest.mark.parametrize(("known", "wanted"), PAIRS, ids=lambda spec: spec.name)
def test_a_model_of_a_variant_is_scaled_by_the_gear_and_said(known: ServoSpec, wanted: ServoSpec) -> None:
    """Whatever depends on the winding starts from the servo's own file if the voltages differ."""
    assert known.gear_ratio
    assert wanted.gear_ratio
    model = build_model(known.name, "m6")
    model = model.with_values({name: 1.01 * value for name, value in model.values.items()})
    values, note = start_values(model, wanted.name)
    scaled = of_variant(model.values, wanted.gear_ratio / known.gear_ratio)
    rewound = {known.supply_voltage, wanted.supply_voltage} == {12.1, 7.4}
    own = {name: wanted.motor[name][0] for name in ("kt", "R")} if rewound else {}
    assert values == {**scaled, **own}
    gears = f"scaled to the gear ratio of {wanted.name}, 1:{wanted.gear_ratio:g}"
    if wanted.gear_ratio == known.gear_ratio:
        gears = f"carried over to {wanted.name}, which has the same gear ratio"
    motor = "; kt and R start from its own file: it is wound for another voltage" if rewound else ""
    assert note == f"a model of the variant {known.name}, 1:{known.gear_ratio:g}, {gears}{motor}"


def test_every_pair_of_variants_is_walked_over() -> None:
    assert len(PAIRS) == 4 * 3 + 2


def test_a_model_of_the_servo_by_another_name_is_its_own() -> None:
    known = load_model("sts3215_7v4", "m1")
    assert start_values(known, "STS3215-C001") == (known.values, "")


@pytest.mark.parametrize("other", ["sts3250", "xl330"])
def test_a_model_of_another_servo_is_refused(other: str) -> None:
    with pytest.raises(IdentificationError, match=rf"a model of sts3215_7v4, the recordings are of {other}; give one"):
        start_values(load_model("sts3215_7v4", "m1"), other)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ((("gamma", 1.0),), "no parameter 'gamma' that can be started from"),
        ((("kt", 1.0), ("kt", 2.0)), "twice"),
        ((("kt", 0.0),), "kt = 0 N·m/A is not possible; use more than 0"),
        ((("R", float("nan")),), "not possible"),
    ],
)
def test_a_start_that_cannot_be_is_refused(start, message) -> None:
    with pytest.raises(IdentificationError, match=message):
        asked(start=start)


def test_the_search_is_never_worse_than_its_start() -> None:
    """A budget that finds nothing by itself keeps an earlier unit's values; evidence says where it began."""
    start = {**earlier("m1").values, "friction_base": 1.05 * earlier("m1").values["friction_base"]}
    near = earlier("m1").with_parameters(earlier("m1").parameters.with_values(start))
    known = evaluate(near, recordings(), threads=1).mean_mae
    cold, warm = (
        identify(asked(start=given, trials=1, substeps=PARTS), recordings()).results[0]
        for given in ((), tuple(start.items()))
    )
    assert warm.train_mae <= known < 0.2 * cold.train_mae
    assert warm.evidence.of("friction_base").initial == start["friction_base"]


def test_a_bad_start_does_not_lose_the_catalogue_s_values() -> None:
    """With no budget but for the starts themselves, the better of the two is kept."""
    catalogue = search_template(asked(), "m1")
    worse = {p.name: p.upper for p in catalogue.parameters.free if p.name.startswith("friction")}
    bad = catalogue.with_values(worse)
    known, poor = (evaluate(model, recordings(), threads=1).mean_mae for model in (catalogue, bad))
    assert known < poor
    assert catalogue.step == pytest.approx(SAMPLING / PARTS)
    found = identify(asked(trials=1, substeps=PARTS, start=tuple(worse.items())), recordings()).results[0]
    assert found.train_mae == pytest.approx(known, rel=1e-9)
