"""Runs a notebook's code cells one after the other, as a kernel does: `python notebook.py FILE`.

Nothing but the standard library, so that the environment under test stays what it is. The last expression of a cell is
shown as Jupyter shows it: `_repr_html_` where there is one, `repr` elsewhere. Searches are short, since packages are
tested here and not models.
"""

import ast
import json
import sys
from pathlib import Path

SHORTER = (
    ("trials=400", "trials=50, command_path=False"),
    ("command_path=True, trials=200", "command_path=False, trials=50"),
)
"""Options of a notebook's searches, and those that take a tenth of the time."""


def run(path: Path) -> None:
    """Run every code cell in one namespace."""
    names = {"__name__": "__main__"}
    for number, cell in enumerate(json.loads(path.read_text("utf-8"))["cells"]):
        if cell["cell_type"] == "code":
            source = "".join(cell["source"])
            for said, done in SHORTER:
                source = source.replace(said, done)
            tree = ast.parse(source)
            last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None
            where = f"{path.name}, cell {number}"
            exec(compile(tree, where, "exec"), names)
            if last is not None:
                show(eval(compile(last, where, "eval"), names))


def show(value: object) -> None:
    """Print a cell's result."""
    html = getattr(value, "_repr_html_", None)
    if value is not None:
        print(repr(value) if html is None else html())


if __name__ == "__main__":
    sys.path.insert(0, "")  # a kernel looks into the working folder first
    run(Path(sys.argv[1]))
