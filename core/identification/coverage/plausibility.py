"""Motor constants that no servo of this kind has: the trace of a header error in every run after a fit.

A fit absorbs a supply voltage that is stated s times too high in every run exactly: k_t becomes s times and R s² times
its value. A gain that is stated s times too high does the same unless the output saturates; a gain ratio ρ in the model
becomes 1/s.

The logged duty cycle, which fits do not use, shows the gain by itself, before any fit.

A load that is stated 1/s times too low or too high scales every torque: k_t stays, R becomes s times its value, and the
armature and friction 1/s times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from core.identification.coverage.doubts import REMEDIES, HeaderDoubt, remedy_of
from core.identification.coverage.findings import Finding, Severity, named_runs
from core.identification.runs.conditions import MOST_DUTY, held_by_duty_cycle, measured_gain_ratios
from core.motion.recording import Recording
from core.motion.supply import supply_alternation
from core.servo.model import ServoModel
from core.servo.parameters import Parameter
from core.servo.shipped import load_model, shipped_models
from core.servo.terms import COMMAND_PATH

SCATTER = {"kt": 0.05, "R": 0.1}
"""Scatter between units of one servo, as logarithm: shipped fits of one servo agree in k_t to 5 %."""

GUESSED = 4.0
"""Multiple of the scatter if no model is shipped, since the catalogue's start value is a guess."""

SPEAKS = 20.0
"""Smallest gain, in squared scatters, of explaining the constants by a factor s in k_t and s² in R."""

POOR = 1.2
"""Factor by which the tolerance is wider if the model leaves much unexplained, since the constants absorb that."""

GAIN_KEPT, SUPPLY_KEPT = 1.1, 1.18
"""Tolerance of the quotient of ρ and k_t within which the header is trusted.

Units scatter by 7 % in it. While the output is not at its limit, nothing else shows a supply stated a quarter too high.
"""

QUOTIENT = 1.3
"""Quotient from which it is a doubt by itself, whichever of the two moved it."""

LOAD, LOAD_AGREED = 1.4, 1.15
"""Smallest factor on the load to report, and the factor within which R and armature agree on it, and k_t on none."""

RATIO = 1.2
"""Gain ratios further from 1 than this are not due to the servo's scatter."""

CHECK_SIGN = "check the sign of the duty cycle"


def implausible_constants(
    model: ServoModel, recordings: Sequence[Recording], *, well_fitted: bool
) -> list[HeaderDoubt]:
    """Return doubts about the supply or the gain of all runs, from the fitted k_t, R and ρ."""
    if model.control.command != "position":
        return []
    margin = 1.0 if well_fitted else POOR
    known, widening = _reference(model)
    values = model.values
    kt, resistance = values["kt"] / known["kt"], values["R"] / known["R"]
    scaled = _evidence(kt, resistance, widening) > margin**2 * SPEAKS
    ratio = values.get("error_gain_ratio", 1.0)
    # Below the output's limit, (ρ, k_t, R) and (a·ρ, a·k_t, a²·R) give the same motion: only the quotient is known.
    stiffness = ratio / kt
    odd = abs(math.log(stiffness))
    far = max(ratio, 1.0 / ratio) > margin * RATIO and (ratio > 1.0) == (stiffness > 1.0)
    if far and odd > math.log(margin * GAIN_KEPT):
        return [_gain_doubt(stiffness if scaled else ratio, recordings, known_apart=True)]
    if scaled and odd > math.log(margin * SUPPLY_KEPT) and (kt > 1.0) == (stiffness < 1.0):
        return [_supply_doubt(model, kt, resistance, recordings)]
    if odd > math.log(margin * QUOTIENT):
        return [_gain_doubt(stiffness, recordings, known_apart=False)]
    return _load_doubt(model, known, recordings) if widening == 1.0 else []


def _load_doubt(model: ServoModel, known: dict[str, float], recordings: Sequence[Recording]) -> list[HeaderDoubt]:
    """Return a doubt about the load of all runs, from R and armature; the known values must be those of a fit."""
    kt, resistance, armature = (math.log(model.values[name] / known[name]) for name in ("kt", "R", "armature"))
    factor = 0.5 * (resistance - armature)
    apart = max(abs(kt), abs(resistance - factor), abs(armature + factor))
    if abs(factor) < math.log(LOAD) or apart > math.log(LOAD_AGREED):
        return []
    ids = tuple(run.id for run in recordings)
    text = (
        f"all runs: R is {math.exp(resistance):.2f} times and J_m {math.exp(armature):.2f} times the known value of "
        f"this servo, as if the load were {math.exp(factor):.2f} times the stated one"
    )
    return [
        HeaderDoubt(
            fact="mass",
            runs=ids,
            factor=math.exp(factor),
            share=math.nan,
            text=text,
            remedy=remedy_of("mass", recordings),
        )
    ]


def _evidence(kt: float, resistance: float, widening: float) -> float:
    """Return the gain, in squared scatters, of explaining both factors by (s, s²) with the best s."""
    x, y = math.log(kt) / (widening * SCATTER["kt"]), math.log(resistance) / (widening * SCATTER["R"])
    # For a unit of s: 1/scatter(k_t) and 2/scatter(R); the explained part is the projection onto this line.
    along = (1.0 / SCATTER["kt"], 2.0 / SCATTER["R"])
    return (x * along[0] + y * along[1]) ** 2 / (along[0] ** 2 + along[1] ** 2)


def _gain_doubt(factor: float, recordings: Sequence[Recording], *, known_apart: bool) -> HeaderDoubt:
    """Return a doubt about the gain; `known_apart` is True if gain and supply can be distinguished."""
    ids = tuple(run.id for run in recordings)
    kp = max(run.settings.kp for run in recordings)
    text = f"all runs: the fit finds {factor:.2f} times the gain in the header ({kp * factor:.3g} instead of {kp:g})"
    return HeaderDoubt(
        fact="kp",
        runs=ids,
        factor=factor,
        share=math.nan,
        alternatives=() if known_apart else (("supply_voltage", ids),),
        text=text if known_apart else f"{text}, or as many times the supply voltage",
        remedy=f"{REMEDIES['kp']}; if it is right, {'' if known_apart else 'measure the supply; else '}"
        "the catalogue's error gain is wrong for this servo",
    )


def strangeness(model: ServoModel) -> float:
    """Return the distance of k_t and the gain ratio from the servo's known values, in units of the tolerance."""
    known, widening = _reference(model)
    ratio = model.values.get("error_gain_ratio", 1.0)
    kt = model.values["kt"] / known["kt"]
    return (math.log(ratio) / math.log(RATIO)) ** 2 + (math.log(kt) / (widening * SCATTER["kt"])) ** 2


def _supply_doubt(model: ServoModel, kt: float, resistance: float, recordings: Sequence[Recording]) -> HeaderDoubt:
    ids = tuple(run.id for run in recordings)
    volts = float(np.median([run.settings.supply_voltage for run in recordings]))
    logged = all("supply_voltage" in run.channels for run in recordings)
    spec = model.spec
    low, high = spec.supply_range
    likely = volts / kt
    text = (
        f"all runs: k_t is {kt:.2f} times and R {resistance:.2f} times the known value of this servo, as if the supply "
        f"were {likely:.3g} V instead of {volts:g} V, or kp {1.0 / kt:.2f} times the stated value"
    )
    first, second = (
        ("kp", "supply_voltage") if logged or not low * 0.9 <= likely <= high * 1.1 else ("supply_voltage", "kp")
    )
    return HeaderDoubt(
        fact=first,
        runs=ids,
        factor=1.0 / kt,
        share=math.nan,
        alternatives=((second, ids),),
        text=text + (f"; {'the supply' if first == 'supply_voltage' else 'the gain'} is more likely"),
        remedy=f"{REMEDIES[first]}; or {REMEDIES[second]}",
    )


def _reference(model: ServoModel) -> tuple[dict[str, float], float]:
    """Return the known values of the servo, and their uncertainty as a multiple of SCATTER."""
    shipped = shipped_models(model.servo)
    if shipped:
        near = model.friction if model.friction in shipped else shipped[-1]
        return load_model(model.servo, near).values, 1.0
    motor = model.spec.motor
    return {name: motor[name][0] for name in ("kt", "R", "armature")}, GUESSED


def gain_findings(model: ServoModel, recordings: Sequence[Recording]) -> list[Finding]:
    """Return a finding on a gain ratio that the logged duty cycle shows: held by the fit, contradicted or unusual."""
    largest = {run.id: duty for run in recordings if (duty := _largest_duty(run)) > MOST_DUTY}
    if largest:
        some, most = named_runs([*largest], len(recordings)), max(largest.values())
        text = f"the duty cycle of {some} reaches {most:.3g}, and 1 is all"
        remedy = "import it in its own unit, such as per cent; no fit uses it"
        return [Finding(kind="gain", severity="warning", runs=(*largest,), text=text, remedy=remedy)]
    ratios = measured_gain_ratios(recordings)
    if not ratios:
        return []
    ratio = float(np.median([*ratios.values()]))
    term = model.parameters.get("error_gain_ratio", COMMAND_PATH["error_gain_ratio"])
    runs, seen = (*ratios,), f"the duty cycle of {named_runs([*ratios], len(recordings))}"

    def finding(severity: Severity, text: str, remedy: str) -> Finding:
        return Finding(kind="gain", severity=severity, runs=runs, text=text, remedy=remedy)

    if ratio <= 0.0:
        return [finding("warning", f"{seen} is {ratio:.2g} times kp × error_gain × error", CHECK_SIGN)]
    found = _held_findings(model, recordings, seen)
    held = isinstance(term, Parameter) and term.frozen
    if not (held or term.lower <= ratio <= term.upper):
        text = f"{seen} is {ratio:.2g} times kp × error_gain × error, which a fit holds"
        found.append(finding("warning", text, "check kp of the runs and error_gain in the servo file"))
    if isinstance(term, Parameter) and model.provenance and not 1.0 / RATIO < ratio / term.value < RATIO:
        text = f"{seen} shows a gain ratio of {ratio:.2f}, the model has {term.value:.2f}, for which k_t and R make up"
        found.append(finding("note", text, f"freeze error_gain_ratio at {ratio:.3g}"))
    return found


def _largest_duty(run: Recording) -> float:
    duty = run.channels.get("duty_cycle", np.zeros(1))
    return float(np.abs(duty[np.isfinite(duty)]).max(initial=0.0))


def _held_findings(model: ServoModel, recordings: Sequence[Recording], seen: str) -> list[Finding]:
    """Return a note on the values that a fit holds since the duty cycle shows them, unless they are as stated."""
    held = {name: value for name, value in held_by_duty_cycle(recordings).items() if value != 1.0}
    if model.provenance:
        frozen = {p.name: p.value for p in model.parameters.values() if p.frozen}
        held = dict(held.items() & frozen.items())
    if not held:
        return []
    values = " and ".join(f"{COMMAND_PATH[name].symbol} = {value:.3g}" for name, value in held.items())
    text = f"{seen} shows {values}, {'at which the fit held them' if model.provenance else 'which fits hold'}"
    return [Finding(kind="held", severity="note", runs=tuple(run.id for run in recordings), text=text, remedy="")]


def supply_findings(recordings: Sequence[Recording]) -> list[Finding]:
    """Return a finding if the logged supply voltage alternates with the bridge's own switching."""
    found = {run.id: change for run in recordings if (change := supply_alternation(run))}
    if not found:
        return []
    text = (
        f"the supply voltage of {named_runs([*found], len(recordings))} alternates by {max(found.values()):.1f} V from "
        "sample to sample: it is read within the periods of the bridge, so its median is used, and the sag of a supply "
        "that nothing buffers is fitted"
    )
    return [Finding(kind="alternating_supply", severity="note", runs=(*found,), text=text, remedy="")]
