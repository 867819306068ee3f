"""The servo: looked for, connected, emulated; what it says of itself and what is written into it."""
