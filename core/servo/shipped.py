"""Models that come with the servos of the catalogue, and the model that a text names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path

import resources
from core.base.errors import ModelError
from core.servo.catalogue import keep_servo_files, load_servo
from core.servo.model import ServoModel, build_model
from core.servo.servo_spec import ServoSpec
from core.servo.terms import COMMAND_PATH_TERMS, FRICTION_MODELS, RICHEST

PUBLISHED = "-published"
"""End of the names of models as published: `mx106:m6-published` is the original of `mx106:m6`."""


@cache
def shipped_models(servo: str) -> tuple[str, ...]:
    """Return the friction models that come with a servo, e.g. ("m1", "m2"); empty if there are none."""
    folder = files(resources) / "models" / load_servo(servo).name
    return tuple(m for m in FRICTION_MODELS if (folder / f"{m}.json").is_file())


@cache
def published_originals(servo: str) -> tuple[str, ...]:
    """Return names of the published originals of shipped models, e.g. ("m1-published",); empty if there are none.

    They have the integrator and time step that they were identified with.
    """
    folder = files(resources) / "models" / load_servo(servo).name
    return tuple(m + PUBLISHED for m in FRICTION_MODELS if (folder / f"{m}{PUBLISHED}.json").is_file())


@cache
def load_model(servo: str, variant: str) -> ServoModel:
    """Return a model that comes with a servo.

    Args:
        servo: Catalogue name.
        variant: Friction model, e.g. "m6", or "m6-published" for the model as published.

    Raises:
        ModelError: There is no such servo or model.
    """
    spec, name = load_servo(servo), variant.lower()
    known = (*shipped_models(servo), *published_originals(servo))
    if name not in known:
        there = f"there is {', '.join(known)}" if known else "there is none; identify one and give its file"
        raise ModelError(f"no model {variant!r} is shipped for {spec.name}; {there}")
    entry = files(resources) / "models" / spec.name / f"{name}.json"
    return ServoModel.from_json_text(entry.read_text("utf-8"), entry.name)


def nominal_model(spec: ServoSpec, friction: str = RICHEST) -> ServoModel:
    """Return the best available model of a servo: its shipped model, else one with the start values of a fit.

    Drivers convert between torque and current with it, and simulated and emulated servos move by it.
    """
    if friction in shipped_models(spec.name):
        return load_model(spec.name, friction)
    return replace(build_model(spec.name, friction), name=f"{spec.title} {friction.upper()}, start values")


def catalogue_model(servo: str) -> ServoModel:
    """Return the model used if none was identified: M6 with command path at the catalogue's start values."""
    return build_model(servo, RICHEST, command_path=COMMAND_PATH_TERMS)


def open_model(text: str, check: Callable[[ServoSpec], object] = lambda spec: None) -> ServoModel:
    """Load a model given as a file or as SERVO:VARIANT.

    SERVO:VARIANT of the user's own servo is a model at its start values.

    Args:
        text: A model file, or a servo (name or servo file) with one of its variants.
        check: See `keep_servo_files`.

    Raises:
        ModelError: There is no such model, or its file is damaged.
    """
    servo, colon, variant = text.rpartition(":")
    friction = variant.lower()
    if not colon or Path(text).exists() or friction.removesuffix(PUBLISHED) not in FRICTION_MODELS:
        return ServoModel.read(text)
    spec = load_servo(keep_servo_files(servo, check))
    own = spec.file and friction in FRICTION_MODELS
    return nominal_model(spec, friction) if own else load_model(spec.name, friction)
