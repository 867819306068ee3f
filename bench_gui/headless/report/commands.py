"""Command lines that reproduce a result."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from core.identification.options import options_of
from core.identification.request import IdentificationRequest

_ALWAYS = ("models", "seed", "validation")
"""Options that are written even at their default."""


def identify_command(
    session: Path,
    request: IdentificationRequest,
    runs: Sequence[str] | None = None,
    output: str = "RESULT",
    joint: tuple[Path, str] | None = None,
) -> str:
    """Return the `bench identify` or `bench robot identify` command of a request.

    Args:
        session: The session.
        request: The request.
        runs: Runs that are used. None for all usable ones.
        output: Folder of the result.
        joint: File of a robot, and the joint that was identified. None for a servo on the bench.
    """
    words = ["bench", "identify", str(session)]
    if joint is not None:
        words = ["bench", "robot", "identify", str(session), "--urdf", str(joint[0]), "--joints", joint[1]]
    if runs is not None:
        words += ["--runs", ",".join(runs)]
    terms = request.command_path
    words += ["--command-path-terms", ",".join(terms)] if terms else ["--no-command-path"]
    words += ["--points"] if request.points else []
    for name, (field, option) in options_of(request).items():
        value = getattr(request, name)
        if option.reproduces and (name in _ALWAYS or value != field.default):
            words += _words(f"--{name.replace('_', '-')}", value, option.flag_scale)
    return shlex.join([*words, "-o", output])


def _words(flag: str, value: Any, scale: float) -> Iterator[str]:
    """Yield a flag and its value in the format of `bench_gui.cli.arguments.add_options`."""
    if isinstance(value, bool):
        yield flag if value else f"--no-{flag[2:]}"
    elif not isinstance(value, tuple):
        yield from (flag, str(value) if scale == 1.0 else f"{value / scale:.10g}")
    elif isinstance(value[0], str):
        yield from (flag, ",".join(value))
    else:
        for name, *numbers in value:
            yield from (flag, f"{name}={':'.join(map(repr, numbers))}")
