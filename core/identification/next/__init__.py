"""Proposal of the recordings that would help most."""
