"""Hook: a page per command of `bench`, written from its argument parser; and the options of an identification."""

from __future__ import annotations

import argparse
import html
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from bench_gui.cli import COMMANDS, build_parser  # noqa: E402
from core.identification.options import IdentificationOptions, options_of  # noqa: E402

MARK = "COMMANDS"
FOLDER = "reference/cli"
SIGNS = "\\`*_{}[]|$"
"""Characters with a meaning in Markdown and its extensions."""
WIDTH = 76
"""Columns of a usage line, as many as the page shows."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the commands into the navigation."""
    config.nav = [_filled(entry) for entry in config.nav]
    return config


def _filled(item: Any) -> Any:
    if isinstance(item, dict):
        return {title: _filled(below) for title, below in item.items()}
    if isinstance(item, list):
        return [_filled(below) for below in item]
    return [f"{FOLDER}/index.md", *(f"{FOLDER}/{name}.md" for name in COMMANDS)] if item == MARK else item


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    parser = build_parser()
    written = {f"{FOLDER}/index.md": overview(parser), "reference/options.md": identification_options()}
    written |= {f"{FOLDER}/{name}.md": command_page(command) for name, command in _commands(parser).items()}
    for uri, text in written.items():
        files.append(File.generated(config, uri, content=text))
    return files


def overview(parser: argparse.ArgumentParser) -> str:
    """Page of `bench` itself: its commands, and its own options."""
    rows = [f"| [`bench {name}`]({name}.md) | {escaped(summary)} |" for name, (_, summary) in COMMANDS.items()]
    return "\n".join(
        [
            "# Commands",
            "",
            escaped(parser.description or ""),
            "",
            "| command | does |",
            "|---|---|",
            *rows,
            "",
            "## Options of `bench` itself",
            "",
            *arguments(parser),
            "",
            escaped(parser.epilog or ""),
        ]
    )


def command_page(parser: argparse.ArgumentParser, level: int = 1) -> str:
    """A command: description, usage, arguments; a section for each command below it."""
    formatter = parser.formatter_class(prog=parser.prog, width=WIDTH)
    formatter.add_usage(parser.usage, parser._actions, parser._mutually_exclusive_groups, prefix="")
    description = escaped(parser.description or "")
    lines = [f"{'#' * level} `{parser.prog}`", "", description, ""]
    lines += ["```text", formatter.format_help().strip(), "```", "", *arguments(parser), ""]
    if parser.epilog:
        lines += [escaped(parser.epilog), ""]
    for below in _commands(parser).values():
        lines.append(command_page(below, min(level + 1, 4)))
    return "\n".join(lines)


def arguments(parser: argparse.ArgumentParser) -> list[str]:
    """Table of a parser's arguments; those without help are hidden ones."""
    rows = []
    for action in parser._actions:
        if action.help == argparse.SUPPRESS or isinstance(action, argparse._SubParsersAction | argparse._HelpAction):
            continue
        expanded = parser._get_formatter()._expand_help(action) if action.help else ""
        rows.append(f"| {_spelling(action)} | {escaped(expanded)} |")
    return ["| argument | meaning |", "|---|---|", *rows] if rows else []


def _spelling(action: argparse.Action) -> str:
    """How an argument is written: its flags and what follows them."""
    value = ""
    if action.nargs != 0:
        names = action.metavar if action.metavar is not None else action.dest
        if action.choices is not None and action.metavar is None:
            names = "{" + ",".join(map(str, action.choices)) + "}"
        value = " ".join(names) if isinstance(names, tuple) else str(names)
        if action.nargs in ("+", "*"):
            value += " …"
    if not action.option_strings:
        return _code(f"[{value}]" if action.nargs in ("?", "*") else value)
    return ", ".join(_code(flag) for flag in action.option_strings) + (f" {_code(value)}" if value else "")


def _code(text: str) -> str:
    entities = {ord(sign): f"&#{ord(sign)};" for sign in SIGNS}
    return f"<code>{html.escape(text).translate(entities)}</code>"


def identification_options() -> str:
    """Page of the options that `servobench.identify` and `cross_validate` take."""
    lines = [
        "# Options of an identification",
        "",
        "Further keyword arguments of `servobench.identify` and `servobench.cross_validate`. The window's expert",
        "settings and `bench identify` offer the same ones. Values are in SI units here, also where the command line",
        "has another unit.",
        "",
        "| name | type | default | meaning |",
        "|---|---|---|---|",
    ]
    for name, (field, option) in options_of(IdentificationOptions).items():
        default = option.automatic or repr(field.default)
        scale = f" (numbers in {option.unit}; here in SI units)" if option.flag_scale != 1.0 else ""
        cells = (f"`{name}`", _code(str(field.type)), escaped(str(default)), escaped(option.tip + scale))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def escaped(text: str) -> str:
    """Plain text as Markdown, on one line within a table."""
    text = " ".join(text.split())
    return text.translate({ord(sign): f"\\{sign}" for sign in SIGNS + "<>"}).replace("--", "&#45;&#45;")


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    return dict(_below(parser))


def _below(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()
