"""Building blocks that every task shares."""
