"""Help topics for F1: the page and place about what the user sees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QDialog, QWidget

from bench_gui.widgets.page import TaskPage
from bench_gui.widgets.tabs import Segments, Tabs

if TYPE_CHECKING:
    from bench_gui.shell.start_page import StartPage

TABS = {
    ("recording", "Live"): "recording#in-the-window",
    ("recording", "List"): "recording#the-plan",
    ("identification", "Search"): "identification_search#descents",
    ("identification", "Overlay"): "identification#reading-the-result",
    ("identification", "Parameters"): "certainty#intervals-and-warnings",
    ("identification", "By parameter"): "certainty#by-parameter",
    ("identification", "Warnings"): "certainty#intervals-and-warnings",
    ("identification", "Coverage"): "coverage#in-the-window",
    ("identification", "Cross-validation"): "model_choice#in-the-window",
    ("identification", "Certainty"): "certainty#profile-and-bootstrap",
    ("identification", "Next recording"): "next_recording#in-the-window",
    ("compare", "Overlay"): "compare#overlay",
    ("compare", "Errors"): "compare#errors",
    ("compare", "Models"): "compare#models",
    ("compare", "Diagram"): "compare#diagram",
}
"""Topic by help page of a task and title of its tab. A tab with its own page is missing here; its task sets `help_page`
accordingly.
"""
DOCKS = {"session": "sessions", "log": "window#log"}
"""Topic by object name of a dock; the inspector belongs to the task."""
DIALOGS = {
    "ParameterDialog": "identification_settings#bounds-and-frozen-parameters",
    "WriteDialog": "connecting#the-servos-card",
    "NameDialog": "connecting#presets",
    "ScanDialog": "servos#find-it",
    "EmulationDialog": "servos#without-hardware",
    "ServoDialog": "adding#a-servo-of-your-own",
    "CommandPalette": "window#command-palette",
    "PreferencesDialog": "settings#preferences",
    "RecoveryDialog": "sessions#while-recording",
    "TrimDialog": "sessions#notes-tags-exclusion-and-trims",
    "ExcludeDialog": "sessions#notes-tags-exclusion-and-trims",
    "TableDialog": "own_recordings#in-the-window",
    "VariantDialog": "robot_logs#variants-of-a-servo",
    "TagsDialog": "sessions#notes-tags-exclusion-and-trims",
}
"""Topic by class name of a dialog."""


def topic_in_sight(focus: QWidget | None, docks: Mapping[str, QWidget], page: StartPage | TaskPage) -> str:
    """Topic of the dock that has the focus, otherwise of the visible tab of the task; "page" or "page#place"."""
    if focus is not None and focus.isVisible():
        for name, topic in DOCKS.items():
            if docks[name].isAncestorOf(focus):
                return topic
    return topic_of_page(page)


def topic_of_page(page: StartPage | TaskPage) -> str:
    """Topic of a task in its current state."""
    return TABS.get((page.help_page, tab_in_sight(getattr(page, "tabs", None))), page.help_page)


def tab_in_sight(tabs: QWidget | None) -> str:
    """Title of the current tab, or of its chosen segment if it has segments; empty without tabs."""
    if isinstance(tabs, Tabs):
        tabs = getattr(tabs.current(), "segments", tabs.segments)
    return tabs.buttons[tabs.current].accessibleName() if isinstance(tabs, Segments) else ""


def topic_of_dialog(dialog: QWidget | None) -> str:
    """Topic of one of our dialogs; empty for others, such as system dialogs."""
    return DIALOGS.get(type(dialog).__name__, "") if isinstance(dialog, QDialog) else ""
