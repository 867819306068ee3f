"""The simulated servo: a catalogue servo with known parameters on a simulated bench, without hardware.

Address: `simulated[:NAME][?option=value&…]`, e.g. `simulated:mx106?model=m3&seed=7&clock=virtual`. NAME is a
catalogue servo (default: the MX-106). Options: `model` (m1…m6 or a model file), `contact` (rigid, elastoplastic,
elastoplastic_rational), `actuator` (servo, webots, sea, awas2, bavs, qbmove, or a file of a compliant one), `preset`
(its stiffness: soft, stiff or a number), `seed`, `clock` (real, virtual), `speed` (of the real clock, e.g. 8 for an
accelerated bench) and the imperfections by name.
"""

from drivers.simulated.actuators import CompliantPlant, PlantActuator, WebotsActuator
from drivers.simulated.form import family, scan
from drivers.simulated.hand import SharedHand
from drivers.simulated.plant import Imperfections, Plant
from drivers.simulated.servo import SimulatedServo
from drivers.simulated.source import SimulatedSource, from_address

__all__ = [
    "CompliantPlant",
    "Imperfections",
    "Plant",
    "PlantActuator",
    "SharedHand",
    "SimulatedServo",
    "SimulatedSource",
    "WebotsActuator",
    "family",
    "from_address",
    "scan",
]
