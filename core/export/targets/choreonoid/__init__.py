"""Choreonoid target: the body file, and the friction for a body customizer."""
