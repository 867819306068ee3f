"""Colours with a fixed meaning, the same live, in overlays, thumbnails and reports.

The models' sequence is that of Okabe and Ito (2008), chosen to be told apart with any colour vision; measured motion
is solid, goals are thin, simulated motion is dashed, so that nothing hangs on colour alone.
"""

MEASURED_COLOUR = "#1a1a1a"
GOAL_COLOUR = "#9a9a9a"
MODEL_COLOURS = {
    "m1": "#d55e00",
    "m2": "#b8860b",
    "m3": "#009e73",
    "m4": "#0072b2",
    "m5": "#56a4d8",
    "m6": "#b0508a",
}
