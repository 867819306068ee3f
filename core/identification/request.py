"""Request of an identification: plain data, checked on creation, the same from window, command and file.

This module does not load the compiler, so the window can check a request before anything is started.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from core.base.errors import IdentificationError, newer, reading_json
from core.base.guards import is_finite, is_object
from core.identification.options import CHOICES, COARSEST_GRID, IdentificationOptions
from core.identification.search.start import started
from core.practice.placement import PlacedPoint
from core.servo.catalogue import ServoSpec, load_servo
from core.servo.friction import require_contact, require_friction_model
from core.servo.model import MOST_SUBSTEPS, ServoModel, build_model
from core.servo.parameters import Parameter, ParameterSet
from core.servo.terms import (
    AUTOMATIC,
    BRISTLE,
    COMMAND_PATH,
    COMMAND_PATH_TERMS,
    FRICTION_MODELS,
    YIELDING,
    path_of,
    physical_limits,
)

TRIALS_PER_PARAMETER = 1000
"""Default budget: evaluations per free parameter.

A search that converged uses fewer, one whose best value was not confirmed uses more.
"""

PAPER_PROTOCOL: Mapping[str, Any] = {
    "validation": "25%",
    "repeats": 3,
    "trials": 4000,
    "metric": "mae",
    "contact": "rigid",
    "integrator": "algorithm1",
    "polish": False,
    "command_path": (),
    "command_path_if_better": False,
}
"""Fields of a request as in seed 004, section V-B: three runs of CMA-ES, about 4000 evaluations each, Algorithm 1."""


@dataclass(frozen=True, kw_only=True)
class IdentificationRequest(IdentificationOptions):
    """Request of an identification. The same request on the same recordings gives the same result."""

    servo: str
    """Catalogue name."""
    command_path: tuple[str, ...] = ()
    """Command path terms to identify with each model."""
    command_path_if_better: bool = False
    """Include these terms only if they lower the error on held-out runs, see `identify`."""
    points: tuple[PlacedPoint, ...] = ()
    """Drive/backdrive points placed by hand; their mean error is added to that of the runs, see `PlacedResiduals`."""
    command: str = "position"
    """Command of the runs, one of `core.servo.actuator.COMMANDS`, see `suited`."""
    data_hash: str = ""
    """Hash of the recordings, for the provenance of the models."""

    def __post_init__(self) -> None:
        wanted = tuple(m for m in FRICTION_MODELS if m in {require_friction_model(name) for name in self.models})
        object.__setattr__(self, "models", wanted)
        if self.contact != AUTOMATIC:
            object.__setattr__(self, "contact", require_contact(self.contact))
        if not wanted:
            raise IdentificationError("no model to identify; name at least one")
        for name, value in (("trials", self.trials), ("repeats", self.repeats), ("threads", self.threads)):
            if value is not None and value < 1:
                raise IdentificationError(f"{value} {name} are too few")
        if self.substeps is not None and not 1 <= self.substeps <= MOST_SUBSTEPS:
            raise IdentificationError(f"{self.substeps} substeps are not possible")
        if self.dt is not None and not 0.0 < self.dt <= COARSEST_GRID:
            raise IdentificationError(
                f"a time step of {self.dt:g} s does not resolve a servo's motion; use at most {COARSEST_GRID:g} s"
            )
        for name, known in CHOICES.items():
            if (value := getattr(self, name)) not in known:
                named = ", ".join(filter(None, known))
                raise IdentificationError(f"no {name.replace('_', ' ')} {value!r}; there are {named}")
        for name in self.command_path:
            if name not in COMMAND_PATH:
                raise IdentificationError(f"no command path term {name!r}; there are {', '.join(COMMAND_PATH)}")
        if not (math.isfinite(self.prior) and self.prior >= 0.0):
            raise IdentificationError(f"a prior of {self.prior:g} rad is not possible; use 0 for none, or about 0.03")
        others = sorted({point.servo for point in self.points} - {self.servo})
        if others:
            raise IdentificationError(f"points placed with {', '.join(others)} do not apply to {self.servo}")
        if self.run_offsets and (self.points or not self.polish):
            raise IdentificationError(
                "run offsets are fitted in the polish, which does not support placed points: leave out one of the two"
            )
        if self.contact == AUTOMATIC and any(name in BRISTLE for name, *_ in (*self.frozen, *self.bounds)):
            object.__setattr__(self, "contact", YIELDING)
        self._check_parameters()
        # A term whose value or bounds are given stays in, whichever path is tried.
        given = [name for name, *_ in (*self.frozen, *self.bounds) if name in COMMAND_PATH]
        object.__setattr__(self, "command_path", tuple(dict.fromkeys((*self.command_path, *given))))
        if all(path_of(model, self.command_path) != self.command_path for model in self.models):
            raise IdentificationError("load_memory needs friction by the load: identify M3 to M6, or leave it out")

    def _check_parameters(self) -> None:
        # A search may start from a model with any contact.
        known, startable = (
            tunable_parameters(self.servo, command_path=tuple(COMMAND_PATH), contact=contact)
            for contact in (self.searched_contact, "elastoplastic")
        )
        for what, possible, names in (
            ("frozen", known, [name for name, _ in self.frozen]),
            ("bounded", known, [name for name, _, _ in self.bounds]),
            ("started from", startable, [name for name, _ in self.start]),
        ):
            for name in names:
                if name not in possible:
                    there = ", ".join(possible)
                    raise IdentificationError(f"no parameter {name!r} that can be {what}; there are {there}")
                if names.count(name) > 1:
                    raise IdentificationError(f"{name} is {what} twice; give it once")
        for name, value in (*self.frozen, *self.start):
            check_value(startable[name], value)
        for name, low, high in self.bounds:
            check_bounds(known[name], low, high)

    @property
    def searched_contact(self) -> str:
        """Contact of a search; the automatic one is chosen afterwards, see `friction_choice`."""
        return "rigid" if self.contact == AUTOMATIC else self.contact

    def settled(self, command_path: Sequence[str]) -> IdentificationRequest:
        """Return the request with the command path terms that are to be identified."""
        return replace(self, command_path=tuple(command_path), command_path_if_better=False)

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**plain, "points": [point.to_json() for point in self.points]}

    @classmethod
    @reading_json("the request of an identification", IdentificationError)
    def from_json(cls, data: Any) -> IdentificationRequest:
        """Read the data of `to_json`; data without a contact are from a program that had only the rigid one.

        Raises:
            IdentificationError: The data do not describe a request.
        """
        if not is_object(data):
            raise IdentificationError("the request of an identification must be an object of name to value")
        if unknown := sorted(set(data) - {field.name for field in fields(cls)}):
            raise ValueError(newer(f"settings {', '.join(unknown)}"))
        values: dict[str, Any] = {
            "contact": "rigid",
            **data,
            "models": tuple(data["models"]),
            "command_path": tuple(data["command_path"]),
            "frozen": tuple((str(name), float(value)) for name, value in data["frozen"]),
            "bounds": tuple((str(name), float(low), float(high)) for name, low, high in data["bounds"]),
            "start": tuple((str(name), float(value)) for name, value in data.get("start", ())),
            "points": tuple(PlacedPoint.from_json(point) for point in data.get("points", ())),
        }
        for field in fields(cls):
            possible = _POSSIBLE.get("str" if field.name in CHOICES else str(field.type).removesuffix(" | None"))
            value = values.get(field.name, field.default)
            if possible is not None and value != field.default and not possible(value):
                raise ValueError(f"{field.name} = {value!r} is not possible")
        return cls(**values)


_POSSIBLE: Mapping[str, Callable[[Any], bool]] = {
    "int": lambda value: type(value) is int and abs(value) < 2**63,
    "float": is_finite,
    "bool": lambda value: type(value) is bool,
    "str": lambda value: isinstance(value, str),
}
"""Parsers of a request's fields by type; fields of other types are parsed one by one."""


def check_value(parameter: Parameter, value: float) -> None:
    """Check that a parameter can have this value.

    Raises:
        IdentificationError: The value is out of its physical limits.
    """
    low, high, included = physical_limits(parameter.name)
    if not (math.isfinite(value) and low <= value <= high and (included or value > low)):
        unit = "" if parameter.unit == "1" else f" {parameter.unit}"
        raise IdentificationError(
            f"{parameter.name} = {value:g}{unit} is not possible; use {_range_in_words(low, high, included)}{unit}"
        )


def check_bounds(parameter: Parameter, low: float, high: float) -> None:
    """Check that a parameter can be searched between these bounds.

    Raises:
        IdentificationError: The bounds are not an interval, or beyond the physical limits.
    """
    if not low < high:
        raise IdentificationError(
            f"{parameter.name}: the lower bound {low:g} must be less than the upper bound {high:g}; "
            "to hold the parameter at one value, freeze it"
        )
    check_value(parameter, low)
    check_value(parameter, high)


def _range_in_words(low: float, high: float, included: bool) -> str:
    if math.isfinite(high):
        return f"{low:g} … {high:g}"
    return f"at least {low:g}" if included else f"more than {low:g}"


def tunable_parameters(
    servo: str | ServoSpec,
    models: Sequence[str] = FRICTION_MODELS,
    command_path: Sequence[str] = COMMAND_PATH_TERMS,
    contact: str = "rigid",
) -> ParameterSet:
    """Return every parameter that identifying these models with these terms can change, the richest model's first.

    Bounds and start values are those of the catalogue.
    """
    spec = servo if isinstance(servo, ServoSpec) else load_servo(servo)
    found: dict[str, Parameter] = {}
    for friction in sorted(models, reverse=True):
        for name, parameter in spec.parameters(friction, tuple(command_path), contact).items():
            found.setdefault(name, parameter)
    return ParameterSet(list(found.values()))


def search_template(request: IdentificationRequest, friction: str) -> ServoModel:
    """Return a friction model for a search: start values, bounds and frozen parameters.

    The values are those of the request's start as far as this model has them, else those of the catalogue.

    Raises:
        IdentificationError: Every parameter is frozen.
    """
    model = build_model(
        request.servo,
        friction,
        command_path=path_of(friction, request.command_path),
        contact=request.searched_contact,
        quadratic_gate=request.quadratic_gate,
        integrator=request.integrator,
        substeps=request.substeps or 1,
        command=request.command,
    )
    bounds = {name: (low, high) for name, low, high in request.bounds if name in model.parameters}
    frozen = {name: value for name, value in request.frozen if name in model.parameters}
    parameters = started(model.parameters.with_bounds(bounds).frozen_at(frozen), dict(request.start))
    if not parameters.free:
        raise IdentificationError(
            f"every parameter of {friction.upper()} is frozen; there is nothing to identify: free one"
        )
    return model.with_parameters(parameters)
