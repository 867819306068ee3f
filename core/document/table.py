"""Tables, and display of results: one line in a terminal, a table in print and in a notebook, a pandas data frame."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from typing import Any

MOST_ROWS = 30
"""Number of rows in print and in a notebook; a data frame has them all."""


@dataclass(frozen=True)
class Table:
    """Rows of texts and numbers under headings; None is a missing value."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str | float | None]]


class Tabular:
    """Base class of results with a heading and a table. A dataclass needs `repr=False` to use this `__repr__`."""

    @abstractmethod
    def heading(self) -> str:
        """Return one line that describes the result."""

    @abstractmethod
    def columns(self) -> Mapping[str, Any]:
        """Return columns by title, lists or arrays of equal length (n,)."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.heading()}>"

    def __str__(self) -> str:
        rows = self._rows()
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
        return "\n".join([self.heading(), *(line.rstrip() for line in lines)])

    def _repr_html_(self) -> str:
        head, *rows = self._rows()
        cells = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
        heads = "".join(f"<th>{escape(name)}</th>" for name in head)
        return f"<p>{escape(self.heading())}</p><table><thead><tr>{heads}</tr></thead><tbody>{cells}</tbody></table>"

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame.

        Raises:
            ImportError: pandas is not installed.
        """
        pandas: Any = import_module("pandas")
        return pandas.DataFrame(dict(self.columns()))

    def _rows(self) -> list[list[str]]:
        columns = self.columns()
        rows = list(zip(*columns.values(), strict=True))
        shown = [[_text(value) for value in row] for row in rows[:MOST_ROWS]]
        more = [[f"… {len(rows) - MOST_ROWS} more", *[""] * (len(columns) - 1)]] if len(rows) > MOST_ROWS else []
        return [list(columns), *shown, *more]


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
