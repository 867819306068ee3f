"""Result of a computation as a document, which window, terminal and paper render."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from core.document.plot import Array, Plot
from core.document.table import Table


@dataclass(frozen=True, kw_only=True, eq=False)
class Document:
    """Text, tables, numbers and plot of a result, made once by a pure function beside the computation."""

    title: str = ""
    tables: tuple[Table, ...] = ()
    sentences: tuple[str, ...] = ()
    data: Mapping[str, Any]
    """The result for JSON."""
    columns: Mapping[str, Array] = field(default_factory=dict[str, Array])
    """Curves for CSV, by heading; they may differ in length."""
    plot: Callable[[], Plot]
    """Makes the plot, which text and numbers do without."""
