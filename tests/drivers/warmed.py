"""What the process of `tests.warm` loads for tests of drivers: recorders, emulators, sessions, compiled kernels."""

import drivers.clock
import drivers.emulators.dynamixel
import drivers.emulators.ethercat
import drivers.ethercat.source
import drivers.recorder.process
import sessions  # noqa: F401
import tests.warm  # noqa: F401
from drivers.registry import open_servo

drivers.clock.SPIN = 0.0  # a hundredth of a millisecond is worth no processor here

with open_servo("simulated:mx106?clock=virtual") as servo:
    servo.connect()
