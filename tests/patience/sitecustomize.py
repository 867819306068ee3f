"""Scales the product's limits in real time, in every Python process a test starts: no verdict is about a busy machine.
Nor are the samples of simulated servos, whose clock stands still while their process does.

`tests/conftest.py` puts this folder on PYTHONPATH, so that processes started by tests, by whatever they test and by the
processes of those all run it first. The real limits are shown by `tests.bench.release`.
"""

import os
import sys
import time
from importlib.machinery import PathFinder
from types import FunctionType

FACTOR = float(os.environ.get("SERVOBENCH_TEST_PATIENCE", "100"))
IMPATIENT = 10.0
"""The factor that the fixture `impatient` sets for processes, for tests that wait for such a limit to pass."""
LIMITS = {
    "bench_gui.state.heartbeat": ("WINDOW_LIMIT",),
    "bench_gui.shell.single": ("CONNECTING", "ANSWERING"),
    "bench_gui.work.compute_process": ("PATIENCE",),
    "bench_gui.work.computation": ("PATIENCE",),
    "drivers.dynamixel.bus": ("READ_TIME", "LATE"),
    "drivers.dynamixel.packets": ("WRITE_LIMIT", "FIRST_PATIENCE"),
    "drivers.dynamixel.preparation": ("RESTART_LIMIT",),
    "drivers.dynamixel.registers": ("RELAXED",),
    "drivers.dynamixel.servo": ("FIND_TIME", "BUSY", "SHORTEST_PATIENCE"),
    "drivers.dynamixel.source": ("BLIND_PATIENCE",),
    "drivers.emulators.dynamixel.x_series": ("WATCHDOG_UNIT",),
    "drivers.emulators.ethercat.esc": ("TICK",),
    "drivers.emulators.ethercat.slave": ("SYNC_LIMIT",),
    "drivers.emulators.process": ("ANSWER_LIMIT",),
    "drivers.ethercat.bus": ("REQUEST_LIMIT", "STOP_LIMIT"),
    "drivers.ethercat.drive": ("ORPHAN_LIMIT", "LOST_FRAMES"),
    "drivers.ethercat.master": ("SAFEOP_LIMIT",),
    "drivers.ethercat.servo": (
        *("PATIENCE", "RELEASE_LIMIT", "ENABLE_LIMIT"),
        *("OP_LIMIT", "RESET_LIMIT", "LOOK_LIMIT"),
    ),
    "drivers.recorder.child": ("SILENCE_LIMIT",),
    "drivers.recorder.cycle": ("STALL_LIMIT", "BLIND_LIMIT"),
    "drivers.recorder.guardian": ("GUARD_LIMIT",),
    "drivers.recorder.link": ("HEARTBEAT_LIMIT",),
    "drivers.recorder.loop": ("REST_LIMIT", "UNATTENDED"),
    "drivers.recorder.process": ("CONNECT_LIMIT",),
}
"""Module to the constants in it that say how long something may be silent, late or away."""
IN_VIRTUAL_TIME = (
    *(f"drivers.dynamixel.{name}" for name in ("bus", "packets", "preparation", "registers", "servo", "source")),
    "drivers.emulators.dynamixel.x_series",
    *(f"drivers.emulators.ethercat.{name}" for name in ("esc", "slave")),
    *(f"drivers.recorder.{name}" for name in ("cycle", "guardian", "loop")),
)
"""Modules of that table that keep their real limits in pytest's own process, where no real time passes for them."""

SIMULATED = "drivers.simulated.source"
LONGEST_LOOK = 0.01
"""Longest time that passes for a simulated servo between two looks at its clock [s of the machine]."""


class ScaledLimits(PathFinder):
    """Finds modules as Python does; what is in the table is scaled as soon as its module has run."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        spec = super().find_spec(name, path, target) if name in (*LIMITS, SIMULATED) else None
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def run_and_scale(module):
                run(module)
                if name == SIMULATED and FACTOR > IMPATIENT:
                    stand_still(module)
                for limit in LIMITS.get(name, ()):
                    real = getattr(module, limit)
                    scaled = type(real)(FACTOR * real)
                    setattr(module, limit, scaled)
                    scale_defaults(module, real, scaled)

            spec.loader.exec_module = run_and_scale
        return spec


def scale_defaults(module, real, scaled):
    """Let functions and methods whose default is that very constant have the scaled one."""
    for holder in (module, *(kind for kind in vars(module).values() if isinstance(kind, type))):
        for function in vars(holder).values():
            if isinstance(function, FunctionType):
                defaults = function.__defaults__ or ()
                function.__defaults__ = tuple(scaled if value is real else value for value in defaults) or None
                named = function.__kwdefaults__ or {}
                named.update({name: scaled for name, value in named.items() if value is real})


def stand_still(module):
    """Give simulated servos of a module a clock that loses the time in which nobody looked at it."""

    # Of the machine's time only what nobody looked at is measured, and left out; nothing is judged by it.
    class Clock(module.RealClock):
        def __init__(self, speed=1.0):
            super().__init__(speed)
            self._looked_at, self._stood = time.perf_counter(), 0.0

        def now(self):
            moment = time.perf_counter()
            self._stood += max(0.0, moment - self._looked_at - LONGEST_LOOK)
            self._looked_at = moment
            return self.speed * (moment - self._stood)

        def wait_until(self, deadline, interrupted):
            while (left := deadline - self.now()) > 0.0 and not interrupted():
                time.sleep(min(left / self.speed, 0.5 * LONGEST_LOOK))

    module.RealClock = Clock


sys.meta_path.insert(0, ScaledLimits)
# Work in the background gives way to whatever else runs; beside a suite of tests it would never end.
os.nice = lambda increment: 0
