"""Guided tour of the order of work: it points at the next step and follows the user's actions."""
