"""Files of other programs' formats that this one wrote and reads again to check them."""

from __future__ import annotations

from pathlib import Path

from core.base.errors import ExportError
from core.export.standalone.servobench_servo import load_servo
from core.export.targets.choreonoid.body import read_body, read_friction
from core.export.targets.genesis import read_drive as read_genesis
from core.export.targets.mujoco.xml import read_setup
from core.export.targets.webots.controller import read_world
from core.studies.webots.nodes import read_servo_node
from tests.fuzz.mutation import changed_json, changed_text
from tests.fuzz.parser import Parser, from_file


def _numbers(path: Path) -> None:
    """A stand-alone program's reader says what is wrong by ValueError."""
    try:
        load_servo(path)
    except ValueError as error:
        raise ExportError(str(error)) from None


_TEXTS = (
    ("vrml_world", "world.wbt", read_world),
    ("vrml_servo", "servo.wbt", read_servo_node),
    ("choreonoid_body", "x.body", read_body),
    ("choreonoid_friction", "x.yaml", read_friction),
    ("mujoco_setup", "scene.xml", read_setup),
)
_JSONS = (
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
