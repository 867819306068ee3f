"""Acceptance: the window stays smooth while a servo streams and an identification uses every core."""

import numpy as np
import pytest

from core.trajectories import make_trajectory
from tests.bench.window import Ticks

LONGEST = 33.0
"""[ms]"""
LENGTH = 4_000
"""Of one measurement [ms]."""


@pytest.mark.alone
def test_smooth_while_fitting(person, session):
    """The window's 16 ms tick at 1 kHz on three live charts with a fit on both cores; the best of three, since other
    programs of the machine count too."""
    controller = person.controller
    person.open(session)
    person.window.identify.form.trials.setValue(1_000_000)
    controller.setup.rate = 1000.0
    person.connect()
    controller.identify(person.window.identify.form.settings())
    person.until(lambda: controller.fitting.latest is not None)
    controller.queue.record([make_trajectory("sin_sin", 60.0)])
    person.until(lambda: person.window.record.live.count > 500)
    measured = []
    for _ in range(3):
        ticks = Ticks()
        ticks.start()
        person.qtbot.wait(LENGTH)
        measured.append(float(np.percentile(ticks.stop(), 95)))
        if measured[-1] < LONGEST:
            break
    assert min(measured) < LONGEST, measured
    assert controller.fitting.active
    assert controller.servo.busy
    assert person.window.record.plots.curves["position"].getData()[0][-1] > 3.0
