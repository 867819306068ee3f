"""Dash patterns of simulated curves, by the kind of model."""

from core.document.plot import DASH_DOTTED, DASHED, DOTTED

IDENTIFIED_DASH, CATALOGUE_DASH, FILE_DASH = DASHED, DOTTED, DASH_DOTTED
