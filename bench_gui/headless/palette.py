"""Colours of the window, of reports and of files, from `resources/palettes`; without Qt.

Models M1 to M6 have fixed colours, the same in every plot and table of a theme. Paper has those of the light theme.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import resources
from core.document.plot import DASHED
from core.servo.terms import FRICTION_MODELS

THEMES = ("light", "dark")


@dataclass(frozen=True)
class Theme:
    """Colours by purpose, as "#RRGGBB"."""

    name: str
    window: str
    panel: str
    raised: str
    border: str
    plot: str
    grid: str
    text: str
    muted: str
    disabled: str
    accent: str
    accent_hover: str
    on_accent: str
    accent_soft: str
    off: str
    ready: str
    moving: str
    stopped: str
    fault: str
    good: str
    on_state: str
    stop: str
    on_stop: str
    fault_soft: str
    moving_soft: str
    measured: str
    goal: str
    drive: str
    backdrive: str
    separator: str
    models: tuple[str, ...]

    def model(self, friction: str) -> str:
        """Return the colour of a friction model, "m1" … "m6"; colours repeat if there are more models."""
        return self.models[FRICTION_MODELS.index(friction) % len(self.models)]

    def colour(self, meaning: str) -> str:
        """Return the colour of a meaning in a plot, see `core.document.plot`."""
        if meaning.startswith("#"):
            return meaning
        return self.model(meaning) if meaning in FRICTION_MODELS else getattr(self, meaning)


@cache
def load_theme(name: str) -> Theme:
    """Load one of THEMES from the shipped palettes."""
    data: dict[str, Any] = tomllib.loads((files(resources) / "palettes" / f"{name}.toml").read_text("utf-8"))
    surface, text, accent, state, curve = (data[k] for k in ("surface", "text", "accent", "state", "curve"))
    return Theme(
        name=data["name"],
        **surface,
        text=text["normal"],
        muted=text["muted"],
        disabled=text["disabled"],
        accent=accent["colour"],
        accent_hover=accent["hover"],
        on_accent=accent["on"],
        accent_soft=accent["soft"],
        **{name: value for name, value in state.items() if name != "on"},
        on_state=state["on"],
        measured=curve["measured"],
        goal=curve["goal"],
        drive=curve["drive"],
        backdrive=curve["backdrive"],
        separator=curve["separator"],
        models=tuple(curve["models"]),
    )


LIGHT = load_theme("light")
"""Colours of reports and files."""
GOAL_LINE: dict[str, Any] = {"color": LIGHT.goal, "linestyle": (0, DASHED)}
"""Keywords of a goal's line for matplotlib."""
