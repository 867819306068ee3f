"""Folder of a fleet: the plan, one file per fit under its unit, and the transfer matrix.

Fits are named by their keys. A later run finds the stored ones, no matter who computed them and how the fleet has grown
since.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.base.atomic import sweep, sweep_tree, write_atomically
from core.base.errors import IdentificationError, InputError, ServoBenchError
from core.base.sealed import parse_sealed, sealed_text, warn_once
from core.fleet.plan import Chain, FleetPlan
from core.fleet.result import FleetResult, Transfer, assembled
from core.identification.result import ModelResult
from core.servo.model import ServoModel

PLAN, TRANSFER, PROBLEMS, UNITS, FITS = "fleet.json", "transfer.json", "problems.json", "units", "fits"


class FleetStore:
    """Folder of a fleet, for reading and writing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def unit_folder(self, unit: str) -> Path:
        """Return the folder of a unit's models and fits."""
        return self.folder / UNITS / unit

    def write_plan(self, plan: FleetPlan) -> None:
        """Write the plan; fits of an earlier plan stay. Raises InputError if it cannot be written."""
        self._write(self.folder / PLAN, plan.to_json())

    def read_plan(self) -> FleetPlan:
        """Read the plan; raise IdentificationError if there is none."""
        file = self.folder / PLAN
        sweep(self.folder)
        sweep_tree(self.folder / UNITS)
        try:
            return FleetPlan.from_json(parse_sealed(file.read_text("utf-8")))
        except OSError as error:
            raise IdentificationError(f"{self.folder}: no fleet ({error.strerror or error})") from None
        except ValueError as error:
            raise IdentificationError(f"{file}: {error}") from None

    def put(self, chain: Chain, key: str, result: ModelResult) -> None:
        """Store a fit; raise InputError if it cannot be written."""
        data = {
            "unit": chain.unit,
            "split": chain.split.rule,
            "repeat": chain.repeat,
            "result": result.to_json(),
            "model": result.model.to_json(),
        }
        self._write(self._file(chain, key), data)

    def get(self, chain: Chain, key: str) -> ModelResult | None:
        """Return a stored fit; None if it is missing or unreadable, the latter with a warning."""
        file = self._file(chain, key)
        try:
            data = parse_sealed(file.read_text("utf-8"))
            return ModelResult.from_json(data["result"], ServoModel.from_json(data["model"]))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, ServoBenchError) as error:
            warn_once(f"{file}: this fit is skipped until the fleet is identified again: {error}")
            return None

    def put_transfer(self, transfer: Transfer, basis: str) -> None:
        """Store the matrix with its basis; raise InputError if it cannot be written."""
        self._write(self.folder / TRANSFER, {"basis": basis, **transfer.to_json()})

    def get_transfer(self, basis: str | None = None) -> Transfer | None:
        """Return the stored matrix if it has this basis, or any basis for None; None if there is none."""
        file = self.folder / TRANSFER
        try:
            data = parse_sealed(file.read_text("utf-8"))
            return Transfer.from_json(data) if basis in (None, data["basis"]) else None
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, IdentificationError) as error:
            warn_once(f"{file}: the transfer matrix is skipped until the fleet is identified again: {error}")
            return None

    def put_problems(self, problems: Mapping[str, str]) -> None:
        """Store the reasons why units could not be fitted, replacing earlier ones."""
        self._write(self.folder / PROBLEMS, dict(problems))

    def get_problems(self) -> dict[str, str]:
        """Return the reasons why units could not be fitted, by unit."""
        file = self.folder / PROBLEMS
        try:
            data = parse_sealed(file.read_text("utf-8"))
            return {str(unit): str(problem) for unit, problem in data.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, AttributeError) as error:
            warn_once(f"{file}: the reasons why units could not be fitted are lost: {error}")
            return {}

    def result(self) -> FleetResult:
        """Return the fleet in its current state; raise IdentificationError if there is none."""
        plan = self.read_plan()
        found = {key: fit for chain in plan.chains for key in chain.keys if (fit := self.get(chain, key)) is not None}
        return assembled(plan, found, self.get_transfer(), self.get_problems())

    def _file(self, chain: Chain, key: str) -> Path:
        return self.unit_folder(chain.unit) / FITS / f"{key}.json"

    def _write(self, file: Path, data: Any) -> None:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(file, sealed_text(data, indent=1, allow_nan=True).encode())
        except OSError as error:
            raise InputError(
                f"{file}: the fleet's results cannot be written ({error.strerror or error}); choose another folder"
            ) from None
