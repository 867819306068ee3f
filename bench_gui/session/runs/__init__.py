"""The runs of the session as a table: what it shows of each, in which order, and the line that filters them."""
