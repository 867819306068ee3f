"""A process that records, to be killed. Not a test: `test_recovery` runs it.

`victim.py SESSION DIARY KILLS SEED` forks a recorder that the system kills at a random moment, writes into the diary
what the recorder had said and done until then, and starts over, until so many have died amid a run.

Row i of every run has goal_position i and position cos(i/10). Time is the recorder's own, PERIOD from row to row; how
long a recorder lives is counted in the processor's time. So nothing depends on how busy the machine is.
"""

import json
import math
import mmap
import os
import random
import signal
import struct
import sys
from types import SimpleNamespace

import numpy as np

import sessions.writing.writer
from core.motion.recording import SAMPLE_DTYPE, RunHeader
from core.servo.bench import Bench
from core.servo.settings import ServoSettings
from sessions.writing.writer import SessionSink

HEADER = RunHeader(
    trajectory="sin_sin",
    bench=Bench(mass=0.49, length=0.1),
    settings=ServoSettings(servo="xl330", kp=400, supply_voltage=7.4),
    rate=100.0,
)
STATE = struct.Struct("iddqq")
"""Number of the run under way (0: none), its first and last rows' times, rows taken, rows flushed."""
PERIOD = 0.01
"""[s]"""
LONGEST_LIFE = 0.06
"""Of the first recorder [s of the processor]."""
now = 0.0
sessions.writing.writer.time = SimpleNamespace(monotonic=lambda: now)


def row(index):
    global now
    now += PERIOD
    table = np.zeros(1, SAMPLE_DTYPE)
    table["time"] = now
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
        end = now + lengths.choice((0.02, 0.2, 0.6, 3.0))
        index, first = 0, 0.0
        while now < end or index < 2:
            sample = row(index)
            run.append(sample)
            last = sample["time"][0]
            first = last if index == 0 else first
            index += 1
            # `pack_into` writes zeros first and then one number after the other, with time to be killed in between.
            state[:] = STATE.pack(number, first, last, index, run.rows_flushed)
        identity = run.finish("success")
        os.write(finished, f"{identity} {index}\n".encode())
        state[:] = bytes(STATE.size)


def lane(path, diary_path, kills, seed):
    sink = SessionSink(os.path.join(path, "runs"))
    moments = random.Random(seed)
    with open(diary_path, "w") as diary:
        kill = amid_a_run = 0
        while amid_a_run < kills:
            state = mmap.mmap(-1, STATE.size)
            outlet, inlet = os.pipe()
            # On a slow processor a run may take longer to begin than the longest life.
            life = moments.uniform(0.004, LONGEST_LIFE * (1 + kill / 10))
            process = os.fork()
            if process == 0:
                # Nothing handles this signal: it ends the process wherever it is, as SIGKILL does.
                signal.setitimer(signal.ITIMER_PROF, life)
                record_for_ever(sink, state, inlet, seed * 1000 + kill)
            os.close(inlet)
            assert os.WTERMSIG(os.waitpid(process, 0)[1]) == signal.SIGPROF
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
            kill += 1
            amid_a_run += flushed >= 2


if __name__ == "__main__":
    lane(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
