"""What a person types: addresses, lines of an emulator's console, values of options, whole command lines."""

from __future__ import annotations

import argparse
import contextlib
import io
import pickle
import shlex
from dataclasses import dataclass
from functools import cache
from typing import Any

from bench_gui.cli import arguments, build_parser
from core.base.errors import InputError
from core.identification.request import IdentificationRequest
from core.identification.runs.split import split_recordings
from core.motion.trajectories import make_trajectory
from drivers.emulators.console import Console
from drivers.emulators.dynamixel.source import DynamixelEmulation
from drivers.emulators.ethercat.commands import add_commands
from drivers.emulators.ethercat.faults import WireFaults
from drivers.emulators.registry import emulator_source
from drivers.emulators.serial_bus.emulator import SerialEmulator
from drivers.emulators.serial_bus.wire import Timing
from drivers.errors import CommandError
from drivers.registry import resolve
from drivers.simulated.hand import SharedHand
from tests.fuzz.mutation import changed_bytes, changed_text, either
from tests.fuzz.parser import Parser
from tests.fuzz.parsers.ethercat import _fresh

_MODELS = (arguments.friction_models, arguments.positive_float, arguments.positive_int, arguments.not_negative)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _address(data: bytes) -> None:
    source: Any = resolve(_text(data))
    if type(source).__name__ != "SimulatedSource":
        pickle.dumps(source)


def _emulator(data: bytes) -> None:
    emulator_source(_text(data))


class _Silence:
    """An end of a line that nobody is at."""

    path, file, plugged, rate = "line", -1, True, 1_000_000

    def send(self, data: bytes) -> None:
        """Nobody hears it."""

    def plug(self) -> None:
        self.plugged = True

    def unplug(self) -> None:
        self.plugged = False


@cache
def _bus() -> SerialEmulator:
    source = DynamixelEmulation()
    line: Any = _Silence()
    return SerialEmulator(line, Timing(False), source.languages(), [source._device(source.servos[0], SharedHand(), 0)])


@cache
def _segment() -> Console:
    console = Console()
    add_commands(console, [_fresh()], WireFaults())
    return console


def _console(data: bytes) -> None:
    for line in _text(data).splitlines()[:20]:
        for console in (_bus().console, _segment()):
            with contextlib.suppress(CommandError):
                assert console.execute(line) is not None


@dataclass(frozen=True)
class _Run:
    id: str
    kp: float
    content_sha256: str = ""

    def conditions(self) -> dict[str, str | float]:
        return {"kp": self.kp, "mass": 0.5, "trajectory": "sin_sin"}


def _options(data: bytes) -> None:
    """Lines of `what value`."""
    words = _text(data).split("\n")
    bounds, frozen = [], []
    for number, word in enumerate(words[:12]):
        kind = number % 6
        if kind == 0:
            bounds.append(arguments.bounds_of(word))
        elif kind == 1:
            frozen.append(arguments.frozen_value(word))
        elif kind == 2:
            split_recordings([_Run("a", 1.0), _Run("b", 2.0), _Run("c", 2.0)], word)
        elif kind == 3:
            make_trajectory(word).preview(100.0)
        elif kind == 4:
            with contextlib.suppress(ValueError, argparse.ArgumentTypeError):
                _MODELS[len(word) % len(_MODELS)](word)
        else:
            arguments.comma_list(word)
    IdentificationRequest(servo="mx106", bounds=tuple(bounds), frozen=tuple(frozen))


@cache
def _command_parser() -> argparse.ArgumentParser:
    return build_parser()


def _command_line(data: bytes) -> None:
    """Understood, or refused as wrong usage; nothing is carried out."""
    try:
        words = shlex.split(_text(data))
    except ValueError:
        raise InputError("no words") from None
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            _command_parser().parse_args(words)
    except SystemExit as ended:
        raise InputError(f"ends with {ended.code}") from None


_WORDS = (
    b"simulated:",
    b"dynamixel:",
    b"ethercat:",
    b"?",
    b"&",
    b"=",
    b"seed=",
    b"speed=",
    b"id=",
    b"nan",
    b"inf",
    b"1e400",
)
PARSERS = (
    Parser(name="address", parse=_address, mutate=either(changed_text, changed_bytes), longest=256, words=_WORDS),
    Parser(name="emulator", parse=_emulator, mutate=either(changed_text, changed_bytes), longest=256, words=_WORDS),
    Parser(name="console", parse=_console, mutate=either(changed_text, changed_bytes), longest=512, words=_WORDS),
    Parser(name="options", parse=_options, mutate=either(changed_text, changed_bytes), longest=512, words=_WORDS),
    Parser(name="command_line", parse=_command_line, mutate=changed_text, longest=512),
)
