"""Another process that writes documents of a session. Not a test: `start` runs it for tests."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from sessions import Session


def start(*arguments):
    """Start a scribe and return it once it is at work, or waits for a line to begin."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, __file__, *map(str, arguments)]
    scribe = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert scribe.stdout.readline() == "ready\n"
    return scribe


def tag(path, run, who, count):
    """Add `count` tags to a run, each by a change of its own."""
    session = Session.open(path)
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(int(count)):
        word = f"{who}{number}"
        session.revise([run], lambda _, old, word=word: replace(old, tags=(*old.tags, word)))


def rewrite(path, who):
    """Replace the plan without end, each time as a whole."""
    session = Session.open(path)
    number = 0
    while True:
        session.set_document("plan", {"who": who, "numbers": [number] * 20_000})
        if number == 0:
            print("ready", flush=True)
        number += 1


if __name__ == "__main__":
    {"tag": tag, "rewrite": rewrite}[sys.argv[1]](*sys.argv[2:])
