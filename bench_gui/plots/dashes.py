"""Dash patterns of simulated curves, by the kind of model."""

IDENTIFIED_DASH = (5.0, 2.5)
CATALOGUE_DASH = (1.5, 2.0)
FILE_DASH = (7.0, 2.0, 1.5, 2.0)
