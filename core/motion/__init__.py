"""Motions: trajectories, recordings, simulation, comparison."""
