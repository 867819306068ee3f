"""The address form of the simulated servo, and its scan, which lists every servo that has a true model."""

from __future__ import annotations

from collections.abc import Mapping

from core.servo.catalogue import ServoSpec, servos
from core.servo.shipped import nominal_model, shipped_models
from core.servo.terms import CONTACT_TITLES, RICHEST
from drivers.family import AddressField, Family
from drivers.scan import Found, OnStep, ScanStep, ShouldStop
from drivers.simulated.actuators import ACTUATOR_TITLES, SERVO, SOFT, STIFF, WITH_PRESET
from drivers.simulated.source import DEFAULT_NAME, FASTEST, SLOWEST

TRUTH = RICHEST


def family() -> Family:
    """Return the form of the addresses of simulated servos."""
    own_motor = ("actuator", (SERVO,))
    return Family(
        name="simulated",
        title="Simulated servo",
        can_scan=True,
        fields=(
            AddressField(
                name="servo",
                title="Servo",
                tip="Servo of the catalogue to simulate",
                kind="choice",
                choices=tuple((spec.title, name) for name, spec in simulated_servos().items()),
                default=DEFAULT_NAME,
                part=True,
            ),
            AddressField(
                name="model",
                title="True model",
                tip="Friction model that the simulated servo really has",
                kind="choice",
                choices=tuple((f"M{number}", f"m{number}") for number in range(1, 7)),
                default=TRUTH,
                only_with=own_motor,
            ),
            AddressField(
                name="contact",
                title="Contact",
                tip="Friction before it slips: rigid, or a bristle that deflects first",
                kind="choice",
                choices=tuple((title, name) for name, title in CONTACT_TITLES.items()),
                default="rigid",
                only_with=own_motor,
            ),
            AddressField(
                name="actuator",
                title="Actuator",
                tip="Mechanism behind the servo's encoder, limits and supply: its own motor, or another actuator, to "
                "which true model and contact do not apply; springs carry a few N·m at most",
                kind="choice",
                choices=tuple((title, name) for name, title in ACTUATOR_TITLES.items()),
                default=SERVO,
            ),
            AddressField(
                name="preset",
                title="Stiffness preset",
                tip="Of AwAS-II the pivot position [m], of BAVS and qbMove an angle [rad]: soft, stiff or a number",
                kind="text",
                choices=(("Soft", SOFT), ("Stiff", STIFF)),
                default=SOFT,
                only_with=("actuator", WITH_PRESET),
            ),
            AddressField(
                name="seed",
                title="Seed",
                tip="Random seed of the noise of the reading times; the same seed repeats the noise",
                kind="whole",
                default="0",
                lowest=0,
                highest=2**31 - 1,
            ),
            AddressField(
                name="speed",
                title="Speed",
                tip="Speed of time on this bench, as a multiple of real time",
                kind="number",
                default="1",
                unit="×",
                lowest=SLOWEST,
                highest=FASTEST,
            ),
        ),
    )


def scan(values: Mapping[str, str], on_step: OnStep, should_stop: ShouldStop) -> list[Found]:
    """List the servos that can be simulated; the values of the form do not restrict them."""
    found: list[Found] = []
    for name, spec in simulated_servos().items():
        if should_stop():
            break
        detail = nominal_model(spec).title
        found.append(Found(f"simulated:{name}", f"{spec.title} (simulated)", detail))
        on_step(ScanStep(f"simulated:{name}", f"{spec.title}, {detail}"))
    return found


def simulated_servos() -> dict[str, ServoSpec]:
    """Return the servos offered for simulation, by name: those with an identified model, and the user's own."""
    return {name: spec for name, spec in servos().items() if spec.file or TRUTH in shipped_models(name)}
