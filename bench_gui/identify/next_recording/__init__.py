"""Proposals for the recordings that would reduce the uncertainty most."""
