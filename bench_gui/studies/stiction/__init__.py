"""Stiction without chatter (seed 001)."""
