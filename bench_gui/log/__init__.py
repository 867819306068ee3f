"""The log: what was said to the person, with its time, and the faults nobody has looked at yet."""
