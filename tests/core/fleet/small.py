"""A small fleet of simulated units, fitted quickly."""

import functools
import hashlib
from dataclasses import dataclass

from core.fleet.plan import FleetPlan, FleetRequest, UnitFacts, make_plan
from core.fleet.simulated import SimulatedUnit, simulated_units
from core.identification.request import IdentificationRequest
from core.motion.recording import Recording

SERVO = "mx106"
TRAJECTORIES = ("sin_sin", "lift_and_drop")


@functools.cache
def units(count: int) -> tuple[SimulatedUnit, ...]:
    return tuple(simulated_units(SERVO, count, trajectories=TRAJECTORIES))


def facts_of(unit: SimulatedUnit) -> UnitFacts:
    digest = hashlib.sha256(b"".join(run.position.tobytes() for run in unit.recordings)).hexdigest()
    runs = tuple(run.id for run in unit.recordings)
    return UnitFacts(name=unit.name, servo=SERVO, source="simulated", runs=runs, data_hash=digest)


@dataclass(frozen=True)
class Load:
    """Reads the recordings of the first units."""

    count: int

    def __call__(self, facts: UnitFacts) -> tuple[Recording, ...]:
        return next(unit.recordings for unit in units(self.count) if unit.name == facts.name)


def plan_of(count: int = 2, *, by: tuple[str, ...] = (), **changes) -> FleetPlan:
    wanted = {"servo": SERVO, "models": ("m1", "m2"), "trials": 60, **changes}
    request = FleetRequest(fit=IdentificationRequest(**wanted), by=by)
    return make_plan(request, [facts_of(unit) for unit in units(count)], Load(count))


def quick_plan_of(count: int = 2, **changes) -> FleetPlan:
    """Plan without the polish of each fit, for what only orders fits."""
    return plan_of(count, polish=False, **changes)


def numbers(result):
    """All that a fleet found, without how long it took."""
    fits = [
        (unit.facts.name, friction, found.train_mae, found.validation_mae, found.model.values, found.evidence.to_json())
        for unit in result.units
        for friction, found in unit.results.items()
    ]
    return fits, None if result.transfer is None else result.transfer.errors.tolist()
