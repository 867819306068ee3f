"""The arm as a MuJoCo scene, and two arms with the servos of Duclusaud et al., section VI-B.

The scene has two hinges in a vertical plane with a plain motor each; `servobench_mujoco` turns a motor into a servo.
The paper gives its arms' servos, not their links. Lengths and masses here are chosen so that gravity needs 10 to 25 %
of the joints' peak torques for the stretched, horizontal arm.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from dataclasses import dataclass

from core.base.errors import InputError
from core.export.targets.mujoco.xml import numbers, xml_text
from core.studies.arm.links import ArmLinks, Pair

JOINTS = ("shoulder", "elbow")
_LOOK = {"contype": "0", "conaffinity": "0"}
_WIDTH = 0.03
"""Width of a drawn link, as a share of the arm's length."""


@dataclass(frozen=True, kw_only=True)
class PublishedArm:
    """Arm whose servos are in the catalogue with all six models."""

    name: str
    title: str
    servos: tuple[str, str]
    """Catalogue names of the servos, shoulder first."""
    links: ArmLinks


def links_of_bodies(
    lengths: Pair, link_masses: Pair, elbow_mass: float, tip_mass: float, gravity: float = 9.81
) -> ArmLinks:
    """Return uniform rods with point masses at the elbow (its servo) and at the tip (the load); m, kg, m/s²."""
    ends = (elbow_mass, tip_mass)
    masses = [rod + end for rod, end in zip(link_masses, ends, strict=True)]
    moments = [(rod / 2.0 + end) * length for rod, end, length in zip(link_masses, ends, lengths, strict=True)]
    inertias = [(rod / 3.0 + end) * length**2 for rod, end, length in zip(link_masses, ends, lengths, strict=True)]
    return ArmLinks(
        masses=(masses[0], masses[1]),
        lengths=lengths,
        centres=(moments[0] / masses[0], moments[1] / masses[1]),
        inertias=(inertias[0], inertias[1]),
        gravity=gravity,
    )


ARMS = {
    arm.name: arm
    for arm in (
        PublishedArm(
            name="dynamixel",
            title="Dynamixel MX-106 and MX-64",
            servos=("mx106", "mx64"),
            links=links_of_bodies((0.2, 0.2), (0.3, 0.3), 0.135, 0.4),
        ),
        PublishedArm(
            name="erob",
            title="eRob80 1:100 and 1:50",
            servos=("erob80_100", "erob80_50"),
            links=links_of_bodies((0.35, 0.35), (0.8, 0.8), 2.5, 1.5),
        ),
    )
}
"""Arms by name. Dynamixel: rods of 0.2 m and 0.3 kg, an elbow servo of 0.135 kg, a load of 0.4 kg. eRob: rods of 0.35 m
and 0.8 kg, an elbow drive of 2.5 kg, a load of 1.5 kg."""


def published_arm(name: str) -> PublishedArm:
    """Return one of `ARMS`; raise InputError naming them if it is unknown."""
    if name not in ARMS:
        raise InputError(f"no arm {name!r}; available: {', '.join(ARMS)}")
    return ARMS[name]


def arm_scene(links: ArmLinks, timestep: float) -> str:
    """Return the arm as MJCF with a time step [s]; raise InputError for physically impossible links."""
    bodies = links.as_bodies()
    root = ET.Element("mujoco", model="planar arm")
    ET.SubElement(root, "compiler", angle="radian")
    gravity = numbers(0.0, 0.0, -links.gravity)
    ET.SubElement(root, "option", timestep=numbers(timestep), integrator="implicitfast", gravity=gravity)
    world = ET.SubElement(root, "worldbody")
    ET.SubElement(world, "light", pos="0 -1 1", dir="0 1 -1")
    parent, place = world, 0.0
    for k, name in enumerate(JOINTS):
        parent = _link(parent, place, name, bodies, k)
        place = -links.lengths[k]
    ET.SubElement(parent, "site", name="tip", pos=numbers(0.0, 0.0, place), size=numbers(_WIDTH * _reach(links)))
    actuators = ET.SubElement(root, "actuator")
    for name in JOINTS:
        ET.SubElement(actuators, "motor", name=name, joint=name)
    return xml_text(root)


def _link(parent: ET.Element, place: float, joint: str, links: ArmLinks, k: int) -> ET.Element:
    """Add a body that hangs down from its joint if its angle and offset are 0."""
    half = 0.5 * links.angle_offsets[k]
    turn = numbers(math.cos(half), 0.0, -math.sin(half), 0.0)
    body = ET.SubElement(parent, "body", name=f"{joint} link", pos=numbers(0.0, 0.0, place), quat=turn)
    # Looking along +y with x to the right and z up, counter-clockwise is positive.
    ET.SubElement(body, "joint", name=joint, axis="0 -1 0")
    own = links.inertias_about_centres[k]
    ET.SubElement(
        body,
        "inertial",
        pos=numbers(0.0, 0.0, -links.centres[k]),
        mass=numbers(links.masses[k]),
        diaginertia=numbers(own, own, own),
    )
    length, width = links.lengths[k], _WIDTH * _reach(links)
    rod = {"type": "capsule", "fromto": numbers(0.0, 0.0, 0.0, 0.0, 0.0, -length), "size": numbers(width)}
    ET.SubElement(body, "geom", rod | _LOOK | {"rgba": ("0.6 0.6 0.6 1", "0.2 0.4 0.8 1")[k]})
    return body


def _reach(links: ArmLinks) -> float:
    return sum(links.lengths)
