"""Waiting in tests: for what happens, not for a time. The limit only ends a test that would hang for ever."""

import time
from collections.abc import Callable
from typing import Any

FAST = "simulated:mx106?speed=4"
"""Servo that saves waiting; its recorder takes about half a slow core, so that a busy machine keeps up with it."""
LIMIT = 600.0
"""[s]; no machine is so busy."""


def wait_until(true: Callable[[], Any], each: Callable[[], object] = lambda: None, told: object = "") -> Any:
    """Return the first value of `true` that counts as true; between two looks call `each`, e.g. a recorder's `beat`.

    Raises AssertionError with `told`, or what it returns if it can be called, when LIMIT has passed.
    """
    # A limit in real time that ends what hangs; nothing is judged by it.
    end = time.monotonic() + LIMIT
    while not (found := true()):
        assert time.monotonic() < end, f"in vain: {told() if callable(told) else told}"
        each()
        time.sleep(0.002)
    return found
