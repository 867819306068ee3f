"""Buttons that fix what keeps an identification from starting, or made it fail."""

from __future__ import annotations

from collections.abc import Callable

from bench_gui.controller import Controller
from bench_gui.identify.fit.messages import LEAVE_OUT, SPLIT, Remedy
from bench_gui.identify.fit.problem import Way
from bench_gui.identify.fit.settings_form import SettingsForm
from bench_gui.state.editing import RunEditing


def way_out(
    remedy: Remedy | None, controller: Controller, form: SettingsForm, start: Callable[[], None] | None = None
) -> Way | None:
    """Return the button for a remedy, None without one; start: called afterwards if given."""
    if remedy is None:
        return None
    library = controller.library
    then = " and try again" if start is not None else ""

    def leave_out() -> None:
        if library.read_only:
            library.select(run.id for run in library.for_fit() if run.id not in remedy.runs)
        else:
            RunEditing(library, controller.undo).exclude(remedy.runs, remedy.reason)

    if remedy.kind == LEAVE_OUT:
        numbers = ", ".join(run.split("_")[0] for run in remedy.runs[:3])
        many = f" and {len(remedy.runs) - 3} more" if len(remedy.runs) > 3 else ""
        text, tip, act = f"Exclude run {numbers}{many}", "Exclude it from fits; its data are kept", leave_out
    elif remedy.kind == SPLIT:
        what = "none" if remedy.rule == "none" else remedy.rule.replace("%", " %")
        text, tip, act = f"Hold out {what}", "Use this split", lambda: form.hold_out(remedy.rule)
    else:
        text, tip, act = "Back to defaults", form.defaults_button.toolTip(), form.back_to_defaults

    def change_and_start() -> None:
        act()
        if start is not None:
            start()

    return Way(text + then, change_and_start, tip + then)
