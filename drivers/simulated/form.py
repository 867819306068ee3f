"""The simulated servo's addresses as a form, and its scan, which finds every servo there is a true model of."""

from __future__ import annotations

from collections.abc import Mapping

from core.catalogue import ServoSpec, servos
from core.shipped import nominal_model, shipped_models
from core.terms import CONTACT_TITLES, RICHEST
from drivers.family import AddressField, Family
from drivers.scan import Found, OnStep, ScanStep, ShouldStop
from drivers.simulated.actuators import ACTUATOR_TITLES, SERVO, SOFT, STIFF
from drivers.simulated.source import DEFAULT_NAME, FASTEST, SLOWEST

TRUTH = RICHEST


def family() -> Family:
    """Return the form of simulated servos' addresses."""
    return Family(
        name="simulated",
        title="Simulated servo",
        can_scan=True,
        fields=(
            AddressField(
                name="servo",
                title="Servo",
                tip="Servo of the catalogue that is simulated",
                kind="choice",
                choices=tuple((spec.title, name) for name, spec in simulated_servos().items()),
                default=DEFAULT_NAME,
                part=True,
            ),
            AddressField(
                name="model",
                title="True model",
                tip="Friction model the simulated servo really moves by",
                kind="choice",
                choices=tuple((f"M{number}", f"m{number}") for number in range(1, 7)),
                default=TRUTH,
            ),
            AddressField(
                name="contact",
                title="Contact",
                tip="How its friction acts before it slips: a rigid budget, or a bristle that gives first",
                kind="choice",
                choices=tuple((title, name) for name, title in CONTACT_TITLES.items()),
                default="rigid",
            ),
            AddressField(
                name="actuator",
                title="Actuator",
                tip="What moves the shaft behind the servo's encoder, limits and supply: its own motor, or another "
                "actuator, for which true model and contact do nothing; springs carry a few N·m at most",
                kind="choice",
                choices=tuple((title, name) for name, title in ACTUATOR_TITLES.items()),
                default=SERVO,
            ),
            AddressField(
                name="preset",
                title="Stiffness preset",
                tip="Of AwAS-II (pivot position in m), BAVS and qbMove (rad): soft, stiff or a number; the others have "
                "none",
                kind="text",
                choices=(("Soft", SOFT), ("Stiff", STIFF)),
                default=SOFT,
            ),
            AddressField(
                name="seed",
                title="Seed",
                tip="Another seed gives other noise of the reading times; the same one repeats them",
                kind="whole",
                default="0",
                lowest=0,
                highest=2**31 - 1,
            ),
            AddressField(
                name="speed",
                title="Speed",
                tip="How many times as fast as in reality time passes on this bench",
                kind="number",
                default="1",
                unit="×",
                lowest=SLOWEST,
                highest=FASTEST,
            ),
        ),
    )


def scan(values: Mapping[str, str], on_step: OnStep, should_stop: ShouldStop) -> list[Found]:
    """List the servos that can be simulated; nothing of the form narrows that."""
    found: list[Found] = []
    for name, spec in simulated_servos().items():
        if should_stop():
            break
        detail = nominal_model(spec).title
        found.append(Found(f"simulated:{name}", f"{spec.title} (simulated)", detail))
        on_step(ScanStep(f"simulated:{name}", f"{spec.title}, {detail}"))
    return found


def simulated_servos() -> dict[str, ServoSpec]:
    """Servos offered for simulation, by name: those with an identified model, and one's own."""
    return {name: spec for name, spec in servos().items() if spec.file or TRUTH in shipped_models(name)}
