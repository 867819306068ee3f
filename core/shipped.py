"""The models that come with the servos of the catalogue."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib.resources import files

import resources
from core.catalogue import load_servo
from core.errors import ModelError
from core.model import ServoModel, build_model
from core.servo_spec import ServoSpec
from core.terms import FRICTION_MODELS, RICHEST

PUBLISHED = "-published"
"""Ends the names of models as they were published: `mx106:m6-published` is the original of `mx106:m6`."""


@cache
def shipped_models(servo: str) -> tuple[str, ...]:
    """Friction models that come with a servo, e.g. ("m1", "m2"); empty when none was identified."""
    folder = files(resources) / "models" / load_servo(servo).name
    return tuple(m for m in FRICTION_MODELS if (folder / f"{m}.json").is_file())


@cache
def published_originals(servo: str) -> tuple[str, ...]:
    """Names of the published originals of shipped models, e.g. ("m1-published",); empty when there are none.

    They carry the integrator and step they were identified with.
    """
    folder = files(resources) / "models" / load_servo(servo).name
    return tuple(m + PUBLISHED for m in FRICTION_MODELS if (folder / f"{m}{PUBLISHED}.json").is_file())


@cache
def load_model(servo: str, variant: str) -> ServoModel:
    """Return a model that comes with a servo, e.g. load_model("mx106", "m6") or, as published, "m6-published".

    Raises ModelError when there is none.
    """
    spec, name = load_servo(servo), variant.lower()
    known = (*shipped_models(servo), *published_originals(servo))
    if name not in known:
        there = f"there is {', '.join(known)}" if known else "there is none; identify one and give its file"
        raise ModelError(f"no model {variant!r} is shipped for {spec.name}; {there}")
    entry = files(resources) / "models" / spec.name / f"{name}.json"
    return ServoModel.from_json_text(entry.read_text("utf-8"), entry.name)


def nominal_model(spec: ServoSpec, friction: str = RICHEST) -> ServoModel:
    """Return the best a servo is known by: its shipped model, else one with the values a fit starts from.

    What a driver converts between torque and current with, and the truth a simulated or emulated servo moves by.
    """
    if friction in shipped_models(spec.name):
        return load_model(spec.name, friction)
    return replace(build_model(spec.name, friction), name=f"{spec.title} {friction.upper()}, start values")
