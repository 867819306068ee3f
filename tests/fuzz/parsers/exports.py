"""Files of other programs' formats that this one wrote and reads again to check them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from core.errors import ExportError
from core.export.choreonoid import read_body, read_friction
from core.export.gazebo_compliant import read_plugins
from core.export.genesis import read_drive as read_genesis
from core.export.mujoco_xml import read_setup
from core.export.sdformat_reading import read_world as read_sdf
from core.export.standalone.servobench_servo import load_servo
from core.export.urdf import read_drive as read_urdf
from core.export.usd import read_servo
from core.export.webots import read_world
from core.webots.nodes import read_servo_node
from tests.fuzz.mutation import changed_json, changed_text
from tests.fuzz.parser import SEEDS, Parser, from_file, scratch


@cache
def _beside(name: str, file: str) -> Path:
    """The export's other file."""
    path = scratch() / file
    path.write_bytes((SEEDS / name / "sound").read_bytes())
    return path


def _urdf(path: Path) -> None:
    _beside("urdf_drive", "x.drive.json")
    read_urdf(path.parent, "x")


def _urdf_drive(path: Path) -> None:
    folder = path.parent / "drives"
    folder.mkdir(exist_ok=True)
    (folder / "x.pendulum.urdf").write_bytes((SEEDS / "urdf" / "sound").read_bytes())
    (folder / "x.drive.json").write_bytes(path.read_bytes())
    read_urdf(folder, "x")


def _numbers(path: Path) -> None:
    """A stand-alone program's reader says what is wrong by ValueError."""
    try:
        load_servo(path)
    except ValueError as error:
        raise ExportError(str(error)) from None


_TEXTS = (
    ("urdf", "x.pendulum.urdf", _urdf),
    ("urdf_plugins", "plugins.urdf", read_plugins),
    ("sdformat", "world.sdf", read_sdf),
    ("vrml_world", "world.wbt", read_world),
    ("vrml_servo", "servo.wbt", read_servo_node),
    ("choreonoid_body", "x.body", read_body),
    ("choreonoid_friction", "x.yaml", read_friction),
    ("usd_layer", "x.usda", read_servo),
    ("mujoco_setup", "scene.xml", read_setup),
)
_JSONS = (
    ("urdf_drive", "drive.json", _urdf_drive),
    ("genesis_drive", "genesis.json", read_genesis),
    ("servo_numbers", "servo.json", _numbers),
)
PARSERS = (
    *(
        Parser(
            name=name,
            parse=from_file(file, read),
            mutate=changed_text,
            longest=8192,
            words=(b"<!ENTITY", b"&a;", b"nan"),
        )
        for name, file, read in _TEXTS
    ),
    *(Parser(name=name, parse=from_file(file, read), mutate=changed_json, longest=4096) for name, file, read in _JSONS),
)
