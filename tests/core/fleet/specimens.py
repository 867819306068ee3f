"""Units whose fits are known without fitting: values and standard errors as given."""

from dataclasses import replace

import numpy as np

from core.fleet.plan import UnitFacts
from core.fleet.result import UnitResult
from core.identification.evidence.model import Evidence, ParameterEvidence
from core.identification.result import ModelResult
from core.identification.runs.split import Split
from core.servo.shipped import load_model


def unit(name, values=None, errors=None, *, friction="m1", mae=3e-3, held=None):
    """One unit with a model of an MX-106: values by parameter, standard errors likewise (1 % where not given)."""
    model = load_model("mx106", friction)
    model = replace(model.with_values(values or {}), provenance={})
    told = errors or {}
    evidence = Evidence(
        parameters=tuple(
            ParameterEvidence(
                name=p.name,
                symbol=p.symbol,
                unit=p.unit,
                value=p.value,
                initial=p.value,
                lower=p.lower,
                upper=p.upper,
                frozen=False,
                at_bound="",
                standard_error=told.get(p.name, 0.01 * abs(p.value) + 1e-6),
            )
            for p in model.parameters.values()
        ),
        conditions=(),
        noise=1e-3,
        samples=1000,
        independent=100.0,
    )
    result = ModelResult(model, mae, held, held, 1, 0.0, (), evidence)
    facts = UnitFacts(name=name, servo="mx106", source="nowhere", runs=("0001",), data_hash="")
    return UnitResult(facts=facts, split=Split("none", ("0001",), ()), results={friction: result}, tasks=1, done=1)


def fleet(count, spreads, *, seed=0, friction="m1", error=0.01):
    """Units whose values differ by these standard deviations of the logarithm, seen with a relative error."""
    random = np.random.default_rng(seed)
    usual = load_model("mx106", friction).values
    units = []
    for number in range(1, count + 1):
        true = {name: usual[name] * np.exp(spread * random.normal()) for name, spread in spreads.items()}
        seen = {name: float(value * np.exp(error * random.normal())) for name, value in true.items()}
        units.append(unit(f"unit-{number:03d}", seen, {n: error * v for n, v in seen.items()}, friction=friction))
    return units
