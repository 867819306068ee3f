"""Output of the sub-commands: JSON, tables and a progress bar."""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

from bench_gui.headless.pace import Pace
from core.base import units
from core.base.announcements import listen
from core.base.errors import shown

if TYPE_CHECKING:
    from tqdm import tqdm

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
"""Control characters, direction marks, characters without width, and surrogates."""
_NUMBER = re.compile(r"[−+]?\d[\d.]*(e[−+]?\d+)?|–|∞|inf|nan|diverges")
"""Cell of a column that is flush right."""


class Visible:
    """Text stream that escapes invisible characters as in JSON, since printed names may come from foreign files."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text; line breaks, tabs and carriage returns are kept."""
        return self._stream.write(_INVISIBLE.sub(lambda found: json.dumps(found[0])[1:-1], text))

    def flush(self) -> None:
        """Flush the stream."""
        self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add --json."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_progress(parser: argparse.ArgumentParser) -> None:
    """Add --quiet."""
    parser.add_argument("--quiet", action="store_true", help="do not show progress")


def print_json(data: Any) -> None:
    """Print data as JSON; NaN and infinity become null."""
    print(json.dumps(_finite(data), indent=2, ensure_ascii=False, allow_nan=False))


def _finite(data: Any) -> Any:
    if isinstance(data, float) and not math.isfinite(data):
        return None
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_finite(value) for value in data]
    return data


def print_table(headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print aligned columns, numbers flush right."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(len(str(line[i])) for line in [headings, *cells]) for i in range(len(headings))]
    numeric = [all(_NUMBER.fullmatch(row[i]) for row in cells) for i in range(len(headings))]
    for line in [list(headings), *cells]:
        texts = (
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(line, widths, numeric, strict=True)
        )
        print("  ".join(texts).rstrip())


def print_columns(texts: Sequence[str], width: int = 100) -> None:
    """Print short texts in aligned, indented columns, row by row."""
    widest = max(map(len, texts), default=0) + 3
    count = max(1, width // widest)
    for first in range(0, len(texts), count):
        print(("  " + "".join(text.ljust(widest) for text in texts[first : first + count])).rstrip())


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return units.typeset(f"{value:.5g}")
    return shown(str(value))


def milliradians(value: float | None) -> str:
    """Return an angle error [rad] in mrad as a cell of a table."""
    return "diverges" if value == math.inf else units.milliradians(value)


class ProgressBar:
    """Progress on standard error: a bar on a terminal, otherwise one line a minute. On leaving it the bar is erased."""

    PERIOD = 60.0
    """Time between two lines [s]."""

    def __init__(self, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin; announcements of this process are shown with the progress.

        Args:
            quiet: Show nothing.
            clock: Function that returns the time [s].
        """
        self._quiet, self._clock = quiet, clock
        self._bar = None if quiet or not sys.stderr.isatty() else _bar()
        self._pace = Pace(clock)
        self._next_line = clock() + self.PERIOD
        listen(None if quiet else self._announced)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None  # later announcements are lines of their own

    def show(self, share: float, text: str, recorded: bool = False) -> None:
        """Show a share of 0 … 1, the time and a text; recorded: it was done by an earlier command."""
        time = self._pace.in_words(share, recorded)
        text = f"{time}: {text}" if time else text
        if self._bar is not None:
            self._bar.n = min(share, 1.0)
            self._bar.set_description_str(text)
        elif not self._quiet and self._clock() >= self._next_line:
            self._next_line = self._clock() + self.PERIOD
            print(f"{100 * share:.0f} % {text}", file=sys.stderr, flush=True)

    def _announced(self, text: str) -> None:
        self._pace.interrupted()
        if self._bar is not None:
            self._bar.set_description_str(text)
        else:
            print(text, file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Erase the bar until more is shown."""
        if self._bar is not None:
            self._bar.clear()


def _bar() -> tqdm:
    from tqdm import tqdm  # takes 0.1 s, and only a terminal needs it

    tqdm.monitor_interval = 0  # without its thread, since commands fork
    return tqdm(
        total=1.0,
        file=sys.stderr,
        leave=False,
        dynamic_ncols=True,
        bar_format="|{bar:10}| {percentage:3.0f} % {desc}",
    )


def duration(seconds: float) -> str:
    """Format a duration, e.g. 8 s or 3 min 20 s."""
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"
