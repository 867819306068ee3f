"""`bench` as forks of one process that has loaded most of the program, where each start would load it anew.

A command runs in a process of its own, with the arguments, folder, environment and files of whoever called it.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

CLIENT = """#!{python} -IS
import json, os, socket, sys
place = socket.socket(socket.AF_UNIX)
place.connect({place!r})
told = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(place, [len(told).to_bytes(4, "big")], [0, 1, 2])
place.sendall(told)
sys.exit(int.from_bytes(place.recv(1) or b"\\x01", "big"))
"""


@contextlib.contextmanager
def warm_bench(folder: Path, around: Sequence[str] = ()):
    """Put a program `bench` into a folder. around: a command that its processes are started by."""
    place = str(folder / "place")
    program = folder / "bench"
    program.write_text(CLIENT.format(python=sys.executable, place=place))
    program.chmod(0o755)
    start = f"from tests.cookbook.warm_bench import serve; serve({place!r})"
    with subprocess.Popen([*around, sys.executable, "-c", start], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        try:
            yield
        finally:
            server.terminate()


def serve(place: str) -> None:
    """Run each command that is asked for in a fork."""
    import bench_gui.cli
    import tests.warmed  # noqa: F401

    listener = socket.socket(socket.AF_UNIX)
    listener.bind(place)
    listener.listen()
    print("ready", flush=True)
    signal.signal(signal.SIGCHLD, lambda *_: _reap())
    while True:
        caller, _ = listener.accept()
        if os.fork():
            caller.close()
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        listener.close()
        length, files, _, _ = socket.recv_fds(caller, 4, 3)
        with caller.makefile("rb") as told:
            words, at, environment = json.loads(told.read(int.from_bytes(length, "big")))
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        os.chdir(at)
        os.environ.clear()
        os.environ.update(environment)
        try:
            code = bench_gui.cli.main(words)
        except SystemExit as end:
            code = end.code
        sys.stdout.flush()
        sys.stderr.flush()
        caller.sendall(bytes([code if isinstance(code, int) else int(bool(code))]))
        os._exit(0)


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
