"""The project's benchmarks by name, what `make bench` runs: `python -m tests.bench [NAME [OPTION …]]`.

Without a name the quick ones run, one after the other, each in a process of its own. Every module of this folder with a
`main` is a benchmark; what it does is the first line of its docstring.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

QUICK = ("speed", "window", "bus", "endtoend")
"""Run without a name; the others take from minutes to an hour."""


def benchmarks() -> dict[str, str]:
    """Name of every benchmark to what it does, the quick ones first."""
    found = {}
    for file in sorted(Path(__file__).parent.glob("[!_]*.py")):
        module = ast.parse(file.read_text("utf-8"))
        if any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in module.body):
            summary = (ast.get_docstring(module) or "").partition("\n")[0]
            found[file.stem] = summary.partition(": `")[0].rstrip(".")
    return {name: found[name] for name in (*QUICK, *sorted(found.keys() - set(QUICK)))}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is named, or the quick ones."""
    there = benchmarks()
    width = max(map(len, there))
    slow = "\n".join(f"  {name:{width}}  {summary}" for name, summary in there.items() if name not in QUICK)
    quick = "\n".join(f"  {name:{width}}  {there[name]}" for name in QUICK)
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description="Run benchmarks and print their figures.",
        epilog=f"run without a name:\n{quick}\n\nonly by name:\n{slow}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="?", choices=list(there), metavar="NAME", help="one of those below")
    parser.add_argument("options", nargs=argparse.REMAINDER, metavar="OPTION", help="what that benchmark takes")
    chosen = parser.parse_args(arguments)
    for name in QUICK if chosen.name is None else (chosen.name,):
        done = subprocess.run([sys.executable, "-m", f"tests.bench.{name}", *chosen.options], check=False)
        if done.returncode:
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
