"""Random Servo nodes and trees of them, as text with only some fields written, beside what the text means."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from core.studies.webots.fields import LINEAR, Load, ServoFields, seed_name

AXES = ("1 0 0", "0 1 0", "0 0 1")


@dataclass(frozen=True)
class Planned:
    """A servo that the text holds, and what it moves."""

    name: str
    fields: ServoFields
    load: Load
    text: str


def random_fields(randomness: np.random.Generator) -> ServoFields:
    """Fields of which about half have their defaults."""

    def some(value: float, default: float) -> float:
        return round(float(value), 6) if randomness.random() < 0.5 else default

    uniform = randomness.uniform
    fields = ServoFields(
        type="rotational" if randomness.random() < 0.6 else LINEAR,
        max_velocity=some(uniform(0.1, 20.0), 10.0),
        max_force=some(uniform(0.0, 6.0), 10.0),
        control_p=some(uniform(0.1, 60.0), 10.0),
        acceleration=some(uniform(1.0, 500.0), -1.0),
        position=some(uniform(-0.5, 0.5), 0.0),
        spring_constant=some(uniform(0.0, 2.0), 0.0),
        damping_constant=some(uniform(0.0, 0.5), 0.0),
    )
    if randomness.random() < 0.5:
        fields = replace(fields, min_position=-0.7, max_position=0.6)
    if randomness.random() < 0.5:
        fields = replace(fields, min_stop=-1.5, max_stop=1.2)
    return fields


def planned(name: str, randomness: np.random.Generator, across: int) -> Planned:
    """A servo about or along one of the axes x, y, z with a point mass and a ball's inertia, gravity along −y."""
    fields = random_fields(randomness)
    mass, size = round(float(randomness.uniform(0.1, 1.0)), 6), round(float(randomness.uniform(0.01, 0.05)), 6)
    arm = [0.0, 0.0, 0.0]
    arm[1 if across != 1 else 0] = -0.2
    place = " ".join(f"{value:g}" for value in arm)
    written = [f'name "{name}"', f"rotation {AXES[across]} 0", f"translation {randomness.uniform(-1, 1):.3f} 0 0"]
    for field, value in vars(fields).items():
        if value != getattr(ServoFields(), field):
            written.append(f'{seed_name(field)} "{value}"' if field == "type" else f"{seed_name(field)} {value!r}")
    randomness.shuffle(written)
    body = (
        f"boundingObject Transform {{ translation {place} children [ Sphere {{ radius {size!r} }} ] }} "
        f"physics Physics {{ density -1 mass {mass!r} }}"
    )
    pull = 9.81 * mass
    if fields.type == LINEAR:
        load = Load(inertia=mass, gravity_torque=pull, offset=math.pi / 2 if across == 1 else 0.0)
    else:
        inertia = mass * (0.2**2 + 0.4 * size**2)
        load = Load(inertia=inertia, gravity_torque=0.0 if across == 1 else 0.2 * pull)
    return Planned(name, fields, load, f"DEF {name.upper()} Servo {{ {' '.join(written)} {body} %s }}")


def world(servos: list[Planned]) -> str:
    """A robot whose servos stand side by side."""
    inside = "\n".join(servo.text % "" for servo in servos)
    return (
        "#VRML_SIM V6.0 utf8\nWorldInfo { basicTimeStep 8 info [ \"a\" 'b' ] }\n".replace("'", '"')
        + f"DEF ROBOT Robot {{ translation 1 2 3 children [ Shape {{ geometry Box {{ }} }} {inside} ] }} # end\n"
    )
