"""A person's own controller program, run on a simulated robot as Webots would run it."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from core.errors import InputError
from core.studies.webots import api, controller
from core.studies.webots.robot import SimulatedRobot

MODULE = "controller"
"""What programs import."""


def controller_module() -> ModuleType:
    """The module that programs import: the classes and the functions."""
    module = ModuleType(MODULE, controller.__doc__)
    vars(module).update({name: getattr(api, name) for name in api.__all__})
    vars(module).update(Robot=controller.Robot, Servo=controller.Servo)
    return module


def run_program(program: Path, robot: SimulatedRobot, arguments: Sequence[str] = ()) -> int:
    """Run a Python file, in its own folder, until it ends or goes on after the simulation's end; its exit code.

    It changes this process for good, its folder, its modules and its arguments, and may do whatever a program may:
    give it a process of its own. Whatever it raises passes through; raises InputError where there is no such file.
    """
    path = program.resolve()
    if not path.is_file():
        raise InputError(f"{program}: there is no such controller program")
    api.attach(robot)
    sys.modules[MODULE] = controller_module()
    sys.argv = [str(path), *arguments]
    sys.path.insert(0, str(path.parent))
    os.chdir(path.parent)
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    return 0
