"""`bench`: the window's headless twin. Each task is a sub-command with the same code under it as the window's.

Sub-commands live in modules of their own that import nothing heavy until they run, so that `bench --help` is instant.
Exit codes: 0 done, 1 failed with one clear line on standard error, 2 wrong usage, 3 done without damaged runs, which
standard error names, 130 stopped by Ctrl+C.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module

from bench_gui.cli.arguments import OR_EXAMPLE, CommandParser, add_servo_files, session_place
from bench_gui.cli.terminal import Visible
from bench_gui.headless.interrupt import Interrupt
from core.errors import ServoBenchError

WRONG_USAGE = 2
INTERRUPTED = 130
"""Exit status after Ctrl+C, as shells have it."""
DAMAGED = 3
"""Exit status of a command that was asked for all runs of a session and did its work without damaged ones."""
COMMANDS: dict[str, str] = {
    "demo": "simulate, record, identify, validate, export and report, without hardware",
    "import": "import recordings of other tools into a session",
    "runs": "list the runs of a session",
    "annotate": "note, tag, exclude or trim runs of a session",
    "scan": "look for servos on a bus",
    "emulate": "emulate a servo on its bus, with faults to plant",
    "record": "record trajectories with a servo",
    "next": "say which recordings would help most",
    "place": "place drive/backdrive points by hand into a session",
    "coverage": "say what the recordings of a session can tell and what is wrong with them",
    "simulate": "simulate the recordings of a session with a model",
    "rollout": "simulate a trajectory with a model",
    "identify": "identify friction and motor models from a session",
    "crossvalidate": "find out which model to use and whether it transfers",
    "fleet": "identify many units of a servo, on all processors or on a cluster",
    "certainty": "find out how certain the values of an identified model are",
    "spread": "describe a fleet's units as one model with its spread, and write it for domain randomisation",
    "evaluate": "judge a model on the recordings of a session",
    "drive-backdrive": "drive and backdrive torques of a model",
    "export": "export a model to a simulator or to firmware, or a session to other formats",
    "feedforward": "compensate friction ahead: tracking error with and without",
    "stiction": "simulate stiction without chatter: steps, holding, stick-slip and the conditions on a bristle",
    "webots": "run a Webots Servo's controller on the bench, or fit a Servo node to a model or recordings",
    "compliant": "simulate compliant actuators: steps, chirps, arms, contact, learning; identify and export them",
    "arm": "validate friction models on a 2R arm, simulated or measured",
    "report": "write the report on an identification",
    "models": "list the servo catalogue and its models, or show one model",
    "benchmark": "measure how fast simulation and identification are here",
    "doctor": "check this machine and say what to mend",
}
"""Sub-command → what it does; its module is bench_gui.cli.commands.<name, dashes as underscores>."""

TRACEBACK_VARIABLE = "SERVOBENCH_TRACEBACK"


def build_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = CommandParser(
        prog="bench",
        description="ServoBench: record, identify, compare and export servo models. Without a command: the window.",
        epilog="bench COMMAND --help tells more. A session to try it on: bench evaluate example --model xl330:m6. "
        f"Exit codes: 0 done, 1 failed, 2 wrong usage, {DAMAGED} done without damaged runs, {INTERRUPTED} stopped.",
    )
    parser.add_argument("--version", action="store_true", help="print the version and end")
    parser.add_argument(
        "--session", metavar="SESSION", type=session_place, help=f"session to open in the window{OR_EXAMPLE}"
    )
    parser.add_argument("--servo", metavar="ADDRESS", help="servo to offer in the window (the one of last time)")
    parser.add_argument("--example", action="store_true", help="open the window on a copy of the example session")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, summary in COMMANDS.items():
        module = import_module(f"{__name__}.commands.{name.replace('-', '_')}")
        command = subparsers.add_parser(name, help=summary, description=module.__doc__)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    with redirect_stdout(Visible(sys.stdout)), redirect_stderr(Visible(sys.stderr)):
        return _main(sys.argv[1:] if argv is None else argv)


def _main(argv: list[str]) -> int:
    parser = build_parser()
    arguments = argparse.Namespace(command=None)
    if strange := [text for text in argv if text.encode("utf-8", "ignore").decode() != text]:
        return _fail(f"{strange[0]}: this is no UTF-8 text; rename the file or folder", WRONG_USAGE)
    try:
        arguments = parser.parse_args(argv)
        if arguments.version:
            return _print_version()
        add_servo_files(arguments)
        if arguments.command is None:
            return _open_window(arguments)
        Interrupt.heeded = False
        status = int(arguments.run(arguments) or 0)
        if Interrupt.heeded:
            return _fail("stopped; what was done so far is kept", INTERRUPTED)
        return DAMAGED if status == 0 and "damage" in arguments else status
    except ServoBenchError as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        return _fail("stopped by the user", INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return _fail(f"{error.filename or arguments.command or parser.prog}: {error.strerror or error}")
    except Exception as error:
        if os.environ.get(TRACEBACK_VARIABLE):
            raise
        where = f"bench {arguments.command}" if arguments.command else "the window"
        return _fail(
            f"internal error in {where}: {type(error).__name__}: {error} (set {TRACEBACK_VARIABLE}=1 for the details)"
        )


def _fail(message: str, status: int = 1) -> int:
    line = " ".join(message.split())
    print(f"bench: {line}", file=sys.stderr)
    return status


def _print_version() -> int:
    from importlib.metadata import version

    print(f"ServoBench {version('servobench')}")
    return 0


def _open_window(arguments: argparse.Namespace) -> int:
    from pathlib import Path

    from bench_gui.headless.display import DisplayTrial
    from bench_gui.headless.examples import example_session

    trial = DisplayTrial()
    # It goes on while Qt is imported here.
    from bench_gui.app import run_window

    trial.finish()
    session = Path(arguments.session) if arguments.session else example_session() if arguments.example else None
    return run_window(session, servo=arguments.servo)
