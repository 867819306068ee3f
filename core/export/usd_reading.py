"""Reading the USD layers this program writes: a small part of the text format, held against the schemas it uses.

Every attribute must be known, of its schema's type, and belong to the prim's type or to an API that is applied to it;
each applied API must have the attributes it is there for. What other programs write is not for this reader.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.errors import ExportError
from core.finite import is_finite

LARGEST_LAYER = 1_000_000
"""[bytes]"""
STAGE = {"defaultPrim": str, "kilogramsPerUnit": 1, "metersPerUnit": 1, "upAxis": "Z"}
"""What the head of a layer must say; types stand for any value."""
TYPES = {
    "float": 1, "double": 1, "vector3f": 3, "float3": 3, "point3f": 3, "double3": 3, "quatf": 4,
    "token": str, "token[]": list, "float3[]": list,
}  # fmt: skip
"""Types of attributes: how many numbers, or text, or a list."""
SCHEMAS: Mapping[str, Mapping[str, str]] = {
    "": {},
    "Xform": {},
    "Sphere": {
        "radius": "double", "extent": "float3[]", "xformOp:translate": "double3", "xformOpOrder": "uniform token[]",
    },
    "PhysicsScene": {"physics:gravityDirection": "vector3f", "physics:gravityMagnitude": "float"},
    "PhysicsFixedJoint": {},
    "PhysicsRevoluteJoint": {
        "physics:axis": "uniform token", "physics:localRot0": "quatf", "physics:localRot1": "quatf",
    },
    "PhysicsArticulationRootAPI": {},
    "PhysxArticulationAPI": {
        "physxArticulation:sleepThreshold": "float", "physxArticulation:stabilizationThreshold": "float",
    },
    "PhysicsRigidBodyAPI": {},
    "PhysicsMassAPI": {
        "physics:mass": "float", "physics:diagonalInertia": "float3", "physics:centerOfMass": "point3f",
        "physics:principalAxes": "quatf",
    },
    "PhysicsDriveAPI:angular": {
        "drive:angular:physics:type": "uniform token", "drive:angular:physics:stiffness": "float",
        "drive:angular:physics:damping": "float", "drive:angular:physics:maxForce": "float",
        "drive:angular:physics:targetPosition": "float",
    },
    "PhysxDrivePerformanceEnvelopeAPI:angular": {
        "physxDrivePerformanceEnvelope:angular:velocityDependentResistance": "float",
        "physxDrivePerformanceEnvelope:angular:speedEffortGradient": "float",
        "physxDrivePerformanceEnvelope:angular:maxActuatorVelocity": "float",
    },
    "PhysxJointAxisAPI:angular": {
        "physxJointAxis:angular:armature": "float", "physxJointAxis:angular:staticFrictionEffort": "float",
        "physxJointAxis:angular:dynamicFrictionEffort": "float",
        "physxJointAxis:angular:viscousFrictionCoefficient": "float",
    },
    "NewtonJointAPI": {"newton:armature": "float", "newton:friction": "float", "newton:damping": "float"},
}  # fmt: skip
"""Attributes of a prim's type or an API, with their types."""
OPTIONAL = (
    "physics:centerOfMass",
    "physxDrivePerformanceEnvelope:angular:maxActuatorVelocity",
)
_PRIM = re.compile(r'def (?:(\w+) )?"(\w+)"( \()?')
_ATTRIBUTE = re.compile(r"((?:uniform )?[a-z0-9]+(?:\[\])?) ([\w:]+) = (.+)")
_RELATION = re.compile(r"rel ([\w:]+) = <([\w/]+)>")
_APIS = re.compile(r"prepend apiSchemas = (\[.+\])")
_REFERENCE = re.compile(r"prepend references = @([\w./-]+)@")


@dataclass
class Prim:
    """A prim as it stands in its layer, nothing composed."""

    kind: str
    apis: tuple[str, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict)
    relations: dict[str, str] = field(default_factory=dict)
    reference: str = ""

    def number(self, name: str) -> float:
        """A finite number of an attribute."""
        value = self.attributes[name]
        if not is_finite(value):
            raise ExportError(f"{name} = {value!r} is not a finite number")
        return float(value)


def read_layer(path: Path) -> dict[str, Prim]:
    """Prims of a layer by their paths; raises ExportError for one that does not follow the schemas."""
    try:
        if path.stat().st_size > LARGEST_LAYER:
            raise ExportError(f"{path}: too large for a layer of this program")
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ExportError(f"{path}: cannot be read as a layer: {error}") from None
    try:
        return _Reader([line.strip() for line in lines if line.strip()]).layer()
    except ExportError as error:
        raise ExportError(f"{path}: {error}") from None


class _Reader:
    def __init__(self, lines: list[str]) -> None:
        self._lines, self._at = lines, 0
        self._prims: dict[str, Prim] = {}

    def layer(self) -> dict[str, Prim]:
        if self._next() != "#usda 1.0" or self._next() != "(":
            raise ExportError("not a layer of this program: no `#usda 1.0` with a head")
        head = {}
        while (line := self._next()) != ")":
            name, _, value = line.partition(" = ")
            head[name] = _literal(value)
        wrong = [
            f"{name} = {head.get(name)!r}"
            for name, wanted in STAGE.items()
            if not (isinstance(head.get(name), wanted) if isinstance(wanted, type) else head.get(name) == wanted)
        ]
        if wrong or len(head) != len(STAGE):
            raise ExportError(f"head of the layer: {', '.join(wrong) or 'something it must not say'}")
        while self._at < len(self._lines):
            self._prim("", self._next())
        if f"/{head['defaultPrim']}" not in self._prims:
            raise ExportError(f"its default prim {head['defaultPrim']} is not there")
        self._require_targets()
        return self._prims

    def _next(self) -> str:
        if self._at >= len(self._lines):
            raise ExportError("the layer ends too early")
        self._at += 1
        return self._lines[self._at - 1]

    def _prim(self, parent: str, line: str) -> None:
        found = _PRIM.fullmatch(line)
        if not found or (found[1] or "") not in SCHEMAS or (found[1] or "").endswith("API"):
            raise ExportError(f"no prim this program writes: {line}")
        path = f"{parent}/{found[2]}"
        if path in self._prims:
            raise ExportError(f"{path} is there twice")
        prim = self._prims[path] = Prim(found[1] or "")
        if found[3]:
            while (line := self._next()) != ")":
                self._about(prim, line)
        if self._next() != "{":
            raise ExportError(f"{path}: no {{ after its head")
        while (line := self._next()) != "}":
            if line.startswith("def "):
                self._prim(path, line)
            elif relation := _RELATION.fullmatch(line):
                prim.relations[relation[1]] = relation[2]
            else:
                _add_attribute(prim, path, line)
        for owner in (prim.kind, *prim.apis):
            missing = [name for name in SCHEMAS[owner] if name not in prim.attributes and name not in OPTIONAL]
            if missing:
                raise ExportError(f"{path}: {owner} without {', '.join(missing)}")

    def _about(self, prim: Prim, line: str) -> None:
        if apis := _APIS.fullmatch(line):
            prim.apis = tuple(_literal(apis[1]))
            unknown = [api for api in prim.apis if api not in SCHEMAS or not api.partition(":")[0].endswith("API")]
            if unknown:
                raise ExportError(f"no schema {', '.join(map(str, unknown))}")
        elif reference := _REFERENCE.fullmatch(line):
            prim.reference = reference[1]
        elif line != 'kind = "component"':
            raise ExportError(f"nothing a prim of this program says: {line}")

    def _require_targets(self) -> None:
        for path, prim in self._prims.items():
            for name, target in prim.relations.items():
                body = self._prims.get(target)
                if name not in ("physics:body0", "physics:body1") or not prim.kind.endswith("Joint"):
                    raise ExportError(f"{path}: no relation {name}")
                if body is None or "PhysicsRigidBodyAPI" not in body.apis:
                    raise ExportError(f"{path}: {name} is {target}, which is no body")


def _add_attribute(prim: Prim, path: str, line: str) -> None:
    found = _ATTRIBUTE.fullmatch(line)
    if not found:
        raise ExportError(f"{path}: not an attribute: {line}")
    kind, name = found[1], found[2]
    wanted = next((SCHEMAS[owner][name] for owner in (prim.kind, *prim.apis) if name in SCHEMAS[owner]), None)
    if wanted is None:
        raise ExportError(f"{path}: no schema of it has {name}")
    if kind != wanted:
        raise ExportError(f"{path}: {name} is a {kind}; its schema says {wanted}")
    value, shape = _literal(found[3]), TYPES[kind.removeprefix("uniform ")]
    if isinstance(shape, type):
        fits = isinstance(value, shape)
    else:
        numbers = value if shape > 1 and isinstance(value, tuple) else (value,)
        fits = len(numbers) == shape and all(type(n) in (int, float) for n in numbers)
    if not fits:
        raise ExportError(f"{path}: {name} = {found[3]} is not a {kind}")
    prim.attributes[name] = value


def _literal(text: str) -> Any:
    """A value of USD's text that is written as Python's is: numbers, text, tuples and lists of them."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        raise ExportError(f"not a value: {text}") from None
