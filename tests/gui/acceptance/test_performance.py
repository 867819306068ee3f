"""Acceptance: the window goes on while a servo streams and an identification uses every core.

How smooth it stays is measured by `tests.bench.window`.
"""

from core.trajectories import make_trajectory


def test_charts_go_on_while_fitting(person, session):
    """Three live charts at 1 kHz, with a fit on every core."""
    controller, record = person.controller, person.window.record
    person.open(session)
    person.window.identify.form.fields["trials"].setValue(1_000_000)
    controller.setup.rate = 1000.0
    person.connect()
    controller.identifying.identify(person.window.identify.form.settings())
    person.until(lambda: controller.fitting.latest is not None)
    controller.queue.record([make_trajectory("sin_sin", 600.0)])
    person.until(lambda: record.plots.curves["position"].getData()[0][-1:].sum() > 3.0)
    assert record.live.count > 500
    assert controller.fitting.active
    assert controller.servo.busy
