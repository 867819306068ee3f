"""Two servos of each of three types in one scene of each engine: nothing collides, each moves as it does alone."""

import importlib.util
import math
import shutil
import subprocess
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import numpy as np
import pytest

from core.export import export_model
from core.export.apart import positions_apart
from core.export.references import PENDULUM, GridRun
from core.export.targets.c_header import identifier
from core.export.targets.mjlab import simulate_in_mjlab
from core.export.targets.newton import simulate_in_newton
from core.export.targets.usd import ENGINE_PACKAGES, scene_text
from core.servo.bench import Bench
from core.servo.shipped import load_model

TYPES, GAINS = ("mx106", "sts3215", "xl330"), (0.75, 1.5)
"""Shares of the catalogue's gain: two servos of a type differ by it alone, as shoulder and elbow do."""
STEP, STEPS = 1e-3, 250
FARTHEST = 2e-4
"""Largest difference from the motion alone [rad]."""


def needs(package):
    return pytest.mark.skipif(importlib.util.find_spec(package) is None, reason=f"{package} is not installed")


@pytest.fixture
def exported(tmp_path, hardly_refitted):
    """Write the six servos for a target into one folder; returns the files of each."""

    def write(target, friction):
        models = [load_model(servo, friction) for servo in TYPES]
        return [
            export_model(model, target, tmp_path, kp=share * model.default_settings().kp).files
            for model in models
            for share in GAINS
        ]

    return write


def one(files, ending):
    (found,) = [file for file in files if file.name.endswith(ending)]
    return found


def goal(k):
    return 0.5 * math.sin(4.0 * STEP * k)


def side_by_side(scenes, servos):
    """MJCF of pendulum scenes in one, joints and actuators numbered."""
    root = ET.Element("mujoco")
    for file in servos:
        ET.SubElement(root, "include", file=file.name)
    for number, scene in enumerate(scenes):
        for element in ET.parse(scene).getroot():
            if element.tag in ("default", "compiler", "extension", "option", "worldbody", "actuator"):
                if element.tag == "option" and number:
                    continue
                for child in element.iter() if element.tag != "extension" else ():
                    child.attrib |= {k: f"{child.get(k)}{number}" for k in ("name", "joint") if child.get(k)}
                root.append(element)
    path = scenes[0].parent / f"{len(scenes)}-{scenes[0].name}"
    path.write_text(ET.tostring(root, encoding="unicode"))
    return path


def in_mujoco(path):
    """Positions of all joints."""
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    found = []
    for k in range(STEPS):
        data.ctrl[:] = goal(k)
        mujoco.mj_step(model, data)
        found.append(data.qpos.copy())
    return np.array(found)


@needs("mujoco")
def test_mujoco(exported):
    files = exported("mujoco", "m1")
    scenes, servos = ([one(each, end) for each in files] for end in ("pendulum.xml", "servo.xml"))
    alone = np.hstack([in_mujoco(scene) for scene in scenes])
    np.testing.assert_allclose(in_mujoco(side_by_side(scenes, servos)), alone, atol=FARTHEST)
    assert np.ptp(alone[-1]) > 1e-3


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_c(exported):
    headers = [one(each, "servo.h") for each in exported("c", "m6")]

    def torques(chosen):
        symbols = [identifier(file.name.removesuffix(".servo.h")) for file in chosen]
        body = "".join(
            f"s = sb_at_rest(SB_C(0)); m = sb_motor_torque(&{name}, &s, sb_held(SB_C(0.01)), SB_C(0), SB_C(0.1), "
            f'SB_C(1), {name}.supply_voltage, SB_C(0.001)); printf("%.9g %.9g ", (double)m, '
            f"(double)sb_friction_budget(&{name}, m, SB_C(-0.1), SB_C(0.1)));\n"
            for name in symbols
        )
        source = "".join(f'#include "{file.name}"\n' for file in chosen) + (
            f"#include <stdio.h>\nint main(void) {{ sb_state s; sb_real m;\n{body}return 0; }}\n"
        )
        folder = chosen[0].parent
        (folder / "scene.c").write_text(source)
        subprocess.run(["cc", "-std=c99", "scene.c", "-o", "scene", "-lm"], cwd=folder, check=True)
        done = subprocess.run([folder / "scene"], capture_output=True, text=True, check=True)
        return [float(word) for word in done.stdout.split()]

    assert torques(headers) == [value for header in headers for value in torques([header])]


def as_alone(positions, pendulums):
    """Assert that pendulums move together as each does alone."""
    alone = np.concatenate([positions([pendulum]) for pendulum in pendulums])
    np.testing.assert_allclose(positions(pendulums), alone, atol=FARTHEST)
    assert np.ptp(alone[:, -1]) > 1e-3


@needs("mjlab")
def test_mjlab(exported):
    swing = SimpleNamespace(duration=2.0, goal=lambda t: 0.5 * np.sin(4.0 * t), torque_enable=np.ones_like)
    pendulums = [(one(each, "mjlab.xml"), one(each, "servo.json")) for each in exported("mjlab", "m6")]
    as_alone(lambda chosen: simulate_in_mjlab(chosen, [swing], 5e-3, Bench.gravity)[:, 0], pendulums)


@needs("newton")
def test_newton(exported):
    run = GridRun(trajectory="lift_and_drop", bench=PENDULUM, settings=load_model("mx106", "m6").default_settings())
    pendulums = [(one(each, "servo.json"), run) for each in exported("newton", "m6")]
    as_alone(lambda chosen: simulate_in_newton(chosen, 5e-3), pendulums)


@pytest.fixture
def usd_pendulums(exported):
    return [one(each, "pendulum.usda") for each in exported("usd", "m1")]


@pytest.mark.skipif(not all(map(importlib.util.find_spec, ENGINE_PACKAGES)), reason="PhysX is not installed")
def test_physx(usd_pendulums):
    def positions(chosen):
        scene = chosen[0].parent / f"{len(chosen)}.usda"
        scene.write_text(scene_text(chosen))
        return positions_apart("servobench_physx.py", [scene], ["sin_sin"] * len(chosen), 5e-3, "PhysX")

    as_alone(positions, usd_pendulums)


@needs("pxr")
def test_usd(usd_pendulums):
    from pxr import Usd

    def drive(stage, path):
        joint = stage.GetPrimAtPath(f"{path}/Joint")
        return {a.GetName(): a.Get() for a in joint.GetAttributes() if a.GetName().startswith(("drive:", "physx"))}

    scene = usd_pendulums[0].parent / "scene.usda"
    scene.write_text(scene_text(usd_pendulums))
    stage = Usd.Stage.Open(str(scene))
    found = [drive(stage, f"/Pendulum{number or ''}") for number in range(len(usd_pendulums))]
    assert found == [drive(Usd.Stage.Open(str(pendulum)), "/Pendulum") for pendulum in usd_pendulums]
    assert len({each["drive:angular:physics:stiffness"] for each in found}) == len(found)
