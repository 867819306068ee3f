"""Choreonoid: the body, and the friction of its customizer."""
