"""What every export errs by in its engine: `python -m tests.bench.engines [--to TARGET …] [--servo SERVO:VARIANT …]`.

Target by load, gain and step, all combinations of what the protocol of checks (`core.export.protocol`) varies one at a
time, on its four trajectories. The last column holds the stated error against the worst run of the protocol's own kind,
of all combinations at the step of the example. Engines that are not installed are named.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from core.base.errors import ExportError, NotChecked
from core.export import check_export, export_model, exporters, protocol
from core.export.contract import Check, ServoOptions
from core.servo.model import ServoModel
from core.servo.shipped import load_model
from tests.bench.printing import line

STEPS = (0.001, 0.002, 0.005)
"""[s]"""
SHARES = (1.0, 0.5, 2.0)
"""Of the export's load, and of its gain; its own first."""
SERVOS = ("mx106:m6", "sts3215:m6", "erob80_50:m4")
"""A voltage law, one with a command path, and a current law."""
BAR = 0.8
"""Least share of the worst error found that a statement names."""


@contextmanager
def every_combination() -> Iterator[None]:
    """Checks run all loads at all gains."""
    found: Mapping[str, tuple[float, float]] = {
        f"load × {load:g}, gain × {gain:g}": (load, gain) for load, gain in itertools.product(SHARES, SHARES)
    }
    with mock.patch.object(protocol, "CONDITIONS", found):
        yield


def check(model: ServoModel, target: str, step: float) -> Check:
    """Export and check at a time step [s]."""
    with TemporaryDirectory() as place:
        export_model(model, target, Path(place), timestep=step)
        return check_export(model, target, Path(place), timestep=step)


def measure(model: ServoModel, target: str) -> bool:
    """Print what one export errs by; False where the statement falls short."""
    stated = check(model, target, STEPS[0])
    worst: list[float] = []
    for step in STEPS:
        begin = time.perf_counter()
        with every_combination():
            found = check(model, target, step)
        taken = time.perf_counter() - begin
        worst.append(found.worst_mrad)
        name = f"{target}, {model.title}, {step * 1e3:g} ms: mean, worst [mrad]"
        told = f"{len(found.errors)} runs, {taken:.0f} s; {found.worst_run}"
        line(name, f"{found.mean_mrad:.3g}, {found.worst_mrad:.3g}", told)
    share = stated.worst_mrad / worst[0]
    line(f"{target}, {model.title}: stated worst of worst found", f"{share:.2f}", f"≥ {BAR}")
    return share >= BAR


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for; 1 if a statement falls short."""
    driven = [name for name, e in exporters().items() if e.check is not None and issubclass(e.options, ServoOptions)]
    parser = argparse.ArgumentParser(prog="python -m tests.bench.engines", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--to", nargs="+", choices=driven, default=driven, metavar="TARGET", help=", ".join(driven))
    parser.add_argument("--servo", nargs="+", default=SERVOS, metavar="SERVO:VARIANT", help=" ".join(SERVOS))
    asked = parser.parse_args(arguments)
    short = False
    for target, servo in itertools.product(asked.to, asked.servo):
        try:
            short |= not measure(load_model(*servo.split(":")), target)
        except (ExportError, NotChecked) as error:
            line(f"{target}, {servo}", "not measured", str(error))
    return int(short)


if __name__ == "__main__":
    sys.exit(main())
