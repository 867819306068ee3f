"""Whom the tour is offered to unasked."""

from __future__ import annotations

from bench_gui.controller import Controller

SEEN = "seen"
"""Value of the setting `tour` once it was shown."""


def is_newcomer(controller: Controller) -> bool:
    """Whether nobody has worked here yet and the servo is simulated: who begins at a real one has other things to do.

    Asked before the window opens a session by itself.
    """
    settings = controller.settings
    return settings.tour != SEEN and not settings.recent and controller.queue.simulated
