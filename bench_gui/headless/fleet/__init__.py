"""Fleets without the window: from sessions to units, to files, to a spread."""
