"""Output files of commands: tables, figures, and simulated motions as NumPy archives."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.base.atomic import write_atomically

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

    from core.motion.simulation import Motion

DIGITS = ".9g"
"""Format of numbers in tables."""


def write_file(path: str | Path, content: str | bytes) -> Path:
    """Write a file atomically and create its folder if needed."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(target, content.encode("utf-8") if isinstance(content, str) else content)
    return target


def write_table(path: str | Path, heading: Iterable[str], rows: Iterable[Iterable[Any]], digits: str = DIGITS) -> Path:
    """Write a CSV file; digits: format of numbers."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heading)
    writer.writerows([cell if isinstance(cell, str) else format(float(cell), digits) for cell in row] for row in rows)
    return write_file(path, text.getvalue())


def by_joint(name: str, values: Any) -> dict[str, Any]:
    """Return the columns of an array (n, 2), named by joint."""
    return {f"{name}{number}": column for number, column in enumerate(values.T, start=1)}


def write_outputs(arguments: argparse.Namespace, columns: Mapping[str, Any], draw: Callable[[], Figure]) -> list[str]:
    """Write the files of --csv and --figure and return their paths; shorter columns end in empty cells."""
    files: list[Path] = []
    if arguments.csv:
        files.append(write_table(arguments.csv, columns, zip_longest(*columns.values(), fillvalue="")))
    if arguments.figure:
        from bench_gui.headless.report.figures import save_figure

        files.append(save_figure(draw(), arguments.figure))
    return [str(file) for file in files]


def print_written(files: Sequence[object]) -> None:
    """Print one line per file."""
    for file in files:
        print(f"written to {file}")


def write_motion(path: str, motions: Mapping[str, Motion], measured: Mapping[str, np.ndarray] | None = None) -> Path:
    """Write motions as an .npz; arrays are named `<key>/<array>`, or `<array>` for an empty key."""
    import numpy as np

    arrays: dict[str, np.ndarray] = {}
    for key, motion in motions.items():
        prefix = f"{key}/" if key else ""
        arrays |= {f"{prefix}{field.name}": getattr(motion, field.name) for field in fields(motion)}
    for key, position in (measured or {}).items():
        arrays[f"{key}/measured_position"] = position
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    return write_file(path, content.getvalue())
