"""One other value for each field of a request, unlike its default and each other."""

from typing import Any

from core.practice.placement import PlacedPoint
from core.servo.bench import Bench

POINT = PlacedPoint(
    motor_torque=0.4, angle=0.2, side="drive", bench=Bench(mass=1.0, length=0.1), servo="mx106", uid="one"
)
OTHER: dict[str, Any] = {
    "servo": "mx64",
    "models": ("m2",),
    "trials": 201,
    "repeats": 2,
    "seed": 5,
    "validation": "kp=32",
    "metric": "rmse",
    "polish": False,
    "contact": "elastoplastic",
    "integrator": "algorithm1",
    "dt": 0.004,
    "substeps": 3,
    "run_offsets": True,
    "quadratic_gate": "opposing",
    "supply": "header",
    "drive_from": "duty_cycle",
    "command": "duty_cycle",
    "frozen": (("R", 2.5),),
    "bounds": (("kt", 0.5, 2.0),),
    "start": (("armature", 0.03),),
    "prior": 0.01,
    "threads": 7,
    "command_path": ("command_delay",),
    "command_path_if_better": True,
    "points": (POINT,),
    "data_hash": "another",
}
