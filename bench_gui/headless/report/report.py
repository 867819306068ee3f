"""Rendering of the report."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from bench_gui.headless.report.page import page_of
from bench_gui.headless.report.sections import ReportContents, examine
from bench_gui.headless.symbols import with_symbols
from core.base.atomic import write_atomically
from core.base.units import as_certain, grouped, milliradians, significant, typeset
from core.base.words import capitalised, counted


def write_report(path: Path, contents: ReportContents) -> Path:
    """Write the report atomically as one self-contained HTML file."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__name__.rpartition(".")[0], "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.finalize = _finished
    environment.filters |= {
        "certain": as_certain,
        "counted": counted,
        "digits": significant,
        "grouped": grouped,
        "mrad": _mrad,
        "percent": _percent,
        "sentence": _sentence,
    }
    text = environment.get_template("report.html.j2").render(page_of(examine(contents)))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text.encode("utf-8", "backslashreplace"))
    return path


def _finished(value: Any) -> Any:
    """Typeset symbols and minus signs of a text; markup is unchanged."""
    return Markup(with_symbols(typeset(value))) if isinstance(value, str) and not isinstance(value, Markup) else value


def _mrad(value: float | None) -> str:
    return "diverges" if value is not None and not math.isfinite(value) else milliradians(value)


def _sentence(text: str) -> str:
    return f"{capitalised(text).rstrip('.')}."


def _percent(value: float | None) -> str:
    return "–" if value is None or not math.isfinite(value) else f"{100 * value:.0f} %"
