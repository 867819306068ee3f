"""Command line `bench`: one sub-command per task, built on the same code as the window.

Each sub-command has its own module, which imports heavy packages only when it runs, so that `bench --help` is instant.
Exit codes: 0 done, 1 failed with one line on standard error, 2 wrong usage, 3 done without damaged runs (listed on
standard error), 130 stopped by Ctrl+C.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path

from bench_gui.cli.arguments import OR_EXAMPLE, CommandParser, add_servo_files, session_place
from bench_gui.cli.terminal import Visible
from core.base.announcements import listen
from core.base.errors import ServoBenchError
from core.base.interrupt import Interrupt

WRONG_USAGE = 2
INTERRUPTED = 130
"""Exit status after Ctrl+C, 128 + SIGINT as in shells."""
DAMAGED = 3
"""Exit status of a command that skipped damaged runs of a session and finished with the others."""
COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("model", "run the whole workflow on a simulated servo, without hardware"),
    "import": ("session", "import recordings from other tools into a session"),
    "runs": ("session", "list the runs of a session"),
    "annotate": ("session", "note, tag, exclude or trim runs of a session"),
    "scan": ("servo", "search for servos on a bus"),
    "servo": ("servo", "show a servo, clear its errors or restart it"),
    "emulate": ("servo", "emulate a servo on its bus, optionally with faults"),
    "record": ("servo", "record trajectories with a servo"),
    "next": ("session", "suggest the recordings that would help most"),
    "place": ("servo", "place drive/backdrive points by hand into a session"),
    "coverage": ("session", "check what the recordings of a session can identify, and list their problems"),
    "simulate": ("model", "simulate the recordings of a session with a model"),
    "rollout": ("model", "simulate a trajectory with a model"),
    "identify": ("model", "identify friction and motor models from a session"),
    "crossvalidate": ("model", "choose a model by cross-validation and test whether it transfers"),
    "robot": ("model", "identify the servos of an assembled robot from its motions"),
    "learn": ("model", "train nets on a session and compare them with an identified model"),
    "fleet": ("fleet", "identify many units of a servo, on this machine or on a cluster"),
    "certainty": ("model", "quantify the uncertainty of an identified model's values"),
    "spread": ("fleet", "describe a fleet as one model with a spread, for domain randomisation"),
    "evaluate": ("model", "evaluate a model on the recordings of a session"),
    "drive-backdrive": ("model", "print or plot the drive and backdrive torques of a model"),
    "export": ("model", "export a model to a simulator or to firmware, or a session to other formats"),
    "feedforward": ("model", "compare tracking errors with and without friction compensation"),
    "stiction": ("studies", "simulate stiction without chatter: steps, holding, stick-slip"),
    "webots": ("studies", "run a Webots controller on the bench, or fit a Servo node"),
    "compliant": ("studies", "simulate, identify and export compliant actuators"),
    "arm": ("studies", "validate friction models on a 2R arm, simulated or measured"),
    "report": ("model", "write the HTML report of an identification"),
    "models": ("model", "list servos and their models, show one model, or add a servo"),
    "benchmark": ("servo", "measure the speed of simulation and identification on this machine"),
    "doctor": ("servo", "check this installation and suggest fixes"),
}
"""Sub-command → the folder of its module in bench_gui.cli.commands, and its summary."""

TRACEBACK_VARIABLE = "SERVOBENCH_TRACEBACK"
"""Environment variable that makes internal errors print their traceback."""

_EPILOG = f"""\
examples:
  bench --example
  bench evaluate example --model xl330:m6
  bench identify example --trials 500 -o result
  bench export result/m6.json --to mujoco -o exported

exit codes:
  0 done, 1 failed, 2 wrong usage, {DAMAGED} done without damaged runs, {INTERRUPTED} stopped by Ctrl+C"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = CommandParser(
        prog="bench",
        description="ServoBench: record, identify, compare and export servo models.\n\n"
        "Without a command, the window opens. bench COMMAND --help describes a command.",
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    parser.add_argument(
        "--session", metavar="SESSION", type=session_place, help=f"session to open in the window{OR_EXAMPLE}"
    )
    parser.add_argument("--servo", metavar="ADDRESS", help="servo selected in the window (default: the last one used)")
    parser.add_argument("--example", action="store_true", help="open a copy of the example session in the window")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, (folder, summary) in COMMANDS.items():
        module = import_module(f"{__name__}.commands.{folder}.{name.replace('-', '_')}")
        command = subparsers.add_parser(
            name, help=summary, description=module.__doc__, epilog=getattr(module, "EXAMPLES", None)
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    with redirect_stdout(Visible(sys.stdout)), redirect_stderr(Visible(sys.stderr)):
        return _main(sys.argv[1:] if argv is None else argv)


def _main(argv: list[str]) -> int:
    try:
        parser = build_parser()
    except ServoBenchError as error:  # the environment asks for what is not possible
        return _fail(str(error))
    arguments = argparse.Namespace(command=None)
    if strange := [text for text in argv if text.encode("utf-8", "ignore").decode() != text]:
        return _fail(f"{strange[0]}: not valid UTF-8; rename the file or folder", WRONG_USAGE)
    try:
        arguments = parser.parse_args(argv)
        if arguments.version:
            return _print_version()
        add_servo_files(arguments)
        if arguments.command is None:
            return _open_window(arguments)
        Interrupt.heeded = False
        if not (vars(arguments).get("quiet") or vars(arguments).get("json")):
            listen(lambda text: print(text, file=sys.stderr))
        status = int(arguments.run(arguments) or 0)
        if Interrupt.heeded:
            return _fail("stopped; completed work is kept", INTERRUPTED)
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
            f"internal error in {where}: {type(error).__name__}: {error} (set {TRACEBACK_VARIABLE}=1 for a traceback)"
        )
    finally:
        listen(None)


def _fail(message: str, status: int = 1) -> int:
    line = " ".join(message.split())
    print(f"bench: {line}", file=sys.stderr)
    return status


def _print_version() -> int:
    from importlib.metadata import version

    print(f"ServoBench {version('servobench')}")
    return 0


def _open_window(arguments: argparse.Namespace) -> int:
    from bench_gui.headless.display import DisplayTrial, require_qt
    from sessions.folders import example_session

    require_qt()
    trial = DisplayTrial()
    # The display check runs while Qt is imported.
    from bench_gui.app import run_window

    trial.finish()
    session = Path(arguments.session) if arguments.session else example_session() if arguments.example else None
    return run_window(session, servo=arguments.servo)
