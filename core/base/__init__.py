"""Foundations of all rooms: errors, units, guards, files that are written whole."""
