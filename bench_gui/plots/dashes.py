"""Dash patterns of simulated curves: what kind of model a curve belongs to."""

IDENTIFIED_DASH = (5.0, 2.5)
CATALOGUE_DASH = (1.5, 2.0)
FILE_DASH = (7.0, 2.0, 1.5, 2.0)
