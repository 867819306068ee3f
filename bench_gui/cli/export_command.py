"""Export a model (json, bam, mujoco), or a session's recordings (csv, bam, h5: one file with everything)."""

from __future__ import annotations

import argparse
from pathlib import Path

from bench_gui.cli.arguments import FRICTION_CHOICES, model_from
from bench_gui.cli.terminal import add_json, print_json

MODEL_TARGETS = ("json", "bam", "mujoco")
SESSION_TARGETS = ("csv", "bam", "h5")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `bench export`."""
    parser.add_argument("source", metavar="FILE|SERVO:VARIANT|SESSION", help="a model, or a session")
    parser.add_argument("--to", required=True, choices=dict.fromkeys(MODEL_TARGETS + SESSION_TARGETS), help="target")
    parser.add_argument(
        "--kp", type=float, metavar="P", help="gain written into a simulator's actuator; default: the catalogue's"
    )
    parser.add_argument(
        "--check", action="store_true", help="run the exported files in their engine and state the error"
    )
    parser.add_argument("-o", "--output", required=True, metavar="DIR")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Export and say what was written."""
    if _is_session(arguments.source):
        return _export_session(arguments)
    return _export_model(arguments)


def _is_session(source: str) -> bool:
    path = Path(source)
    servo, _, variant = source.partition(":")
    shipped = bool(servo) and variant.lower() in FRICTION_CHOICES
    return path.is_dir() or (path.suffix == ".h5" and not shipped)


def _export_session(arguments: argparse.Namespace) -> int:
    from core.errors import ExportError
    from sessions import Session, export_bam, export_csv, export_single

    session = Session.open(arguments.source)
    output = Path(arguments.output)
    if arguments.to == "csv":
        files = export_csv(session, None, output)
    elif arguments.to == "bam":
        files = export_bam(session, None, output)
    elif arguments.to == "h5":
        output.mkdir(parents=True, exist_ok=True)
        target = output / f"{Path(arguments.source).resolve().stem}.h5"
        export_single(session, target)
        files = [target]
    else:
        raise ExportError(f"a session cannot be exported to {arguments.to}; there are {', '.join(SESSION_TARGETS)}")
    if arguments.json:
        print_json({"files": [str(file) for file in files]})
    else:
        print(f"{len(files)} files written to {output}")
    return 0


def _export_model(arguments: argparse.Namespace) -> int:
    from bench_gui.export.writing import check_files
    from core.errors import ExportError
    from core.export import export_model

    if arguments.to not in MODEL_TARGETS:
        raise ExportError(f"a model cannot be exported to {arguments.to}; there are {', '.join(MODEL_TARGETS)}")
    model = model_from(arguments.source)
    options = {"kp": arguments.kp} if arguments.to == "mujoco" and arguments.kp is not None else {}
    result = export_model(model, arguments.to, arguments.output, **options)
    checked = None
    if arguments.check:
        errors = check_files(model, arguments.to, Path(arguments.output))
        checked = sum(errors.values()) / len(errors)
    if arguments.json:
        print_json(
            {
                "files": [str(file) for file in result.files],
                "notes": list(result.notes),
                "error_mrad": result.error_mrad,
                "checked_mrad": checked,
            }
        )
        return 0
    for file in result.files:
        print(file)
    for note in result.notes:
        print(f"note: {note}")
    if result.error_mrad is not None:
        print(f"exported motion differs from the model's by {result.error_mrad:.3g} mrad on average")
    if checked is not None:
        print(f"run in its engine: {checked:.3g} mrad on average")
    return 0
