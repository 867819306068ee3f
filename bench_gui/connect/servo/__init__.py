"""The servo: scan, connection, emulation, its identity, and the values written into it."""
