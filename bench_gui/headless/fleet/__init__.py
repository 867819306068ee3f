"""Fleets: from sessions to units, to files, to a spread."""
