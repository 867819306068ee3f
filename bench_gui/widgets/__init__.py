"""Widgets shared by all tasks."""
