"""A process that records, to be killed. Not a test: `test_recovery` runs it.

`victim.py lane SESSION DIARY KILLS SEED` forks a recorder, kills it with SIGKILL at a random moment, writes into
the diary what the recorder had said and done until then, and starts over. `victim.py full SESSION BYTES END` records
onto a disk that takes files of at most so many bytes and then finishes the run or dies.

Row i of every run has goal_position i and position cos(i/10); its time is the wall time at which it was made.
"""

import json
import math
import mmap
import os
import random
import resource
import signal
import struct
import sys
import time

import numpy as np

from core.bench import Bench
from core.errors import ServoBenchError
from core.recording import SAMPLE_DTYPE, RunHeader, ServoSettings
from sessions import SessionSink

HEADER = RunHeader(
    trajectory="sin_sin",
    bench=Bench(mass=0.49, length=0.1),
    settings=ServoSettings(servo="xl330", kp=400, supply_voltage=7.4),
    rate=500.0,
)
STATE = struct.Struct("iddqq")
"""Number of the run under way (0: none), its first and last rows' times, rows taken, rows flushed."""


def row(index):
    table = np.zeros(1, SAMPLE_DTYPE)
    table["time"] = time.monotonic()
    table["goal_position"] = index
    table["position"] = math.cos(index / 10)
    table["torque_enable"] = 1
    return table


def record_for_ever(sink, state, finished, seed):
    """Record runs of random lengths, one after the other, telling in shared memory and a pipe what was done."""
    lengths = random.Random(seed)
    while True:
        run = sink.open(HEADER)
        number = int(run.id[:4])
        end = time.monotonic() + lengths.choice((0.02, 0.2, 0.6, 3.0))
        index, first = 0, 0.0
        while time.monotonic() < end or index < 2:
            sample = row(index)
            run.append(sample)
            last = sample["time"][0]
            first = last if index == 0 else first
            index += 1
            STATE.pack_into(state, 0, number, first, last, index, run.rows_flushed)
            time.sleep(0.002)
        identity = run.finish("success")
        os.write(finished, f"{identity} {index}\n".encode())
        STATE.pack_into(state, 0, 0, 0.0, 0.0, 0, 0)


def lane(path, diary_path, kills, seed):
    sink = SessionSink(os.path.join(path, "runs"))
    moments = random.Random(seed)
    with open(diary_path, "w") as diary:
        for kill in range(kills):
            state = mmap.mmap(-1, STATE.size)
            outlet, inlet = os.pipe()
            process = os.fork()
            if process == 0:
                record_for_ever(sink, state, inlet, seed * 1000 + kill)
            os.close(inlet)
            time.sleep(moments.uniform(0.05, 1.5))
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            with os.fdopen(outlet) as pipe:
                finished = [line.split() for line in pipe if line.endswith("\n")]
            number, first, last, taken, flushed = STATE.unpack(state)
            entry = {
                "finished": {identity: int(rows) for identity, rows in finished},
                "number": number,
                "first": first,
                "last": last,
                "taken": taken,
                "flushed": flushed,
            }
            diary.write(json.dumps(entry) + "\n")


def full(path, size, end):
    run = SessionSink(os.path.join(path, "runs")).open(HEADER)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    try:
        for index in range(10**6):
            run.append(row(index))
            if index % 100 == 99:
                run.flush()
    except ServoBenchError as error:
        print(json.dumps({"error": str(error), "flushed": run.rows_flushed}), flush=True)
    if end == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    run.finish("fail", "the disk is full")


if __name__ == "__main__":
    if sys.argv[1] == "lane":
        lane(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
    else:
        full(sys.argv[2], int(sys.argv[3]), sys.argv[4])
