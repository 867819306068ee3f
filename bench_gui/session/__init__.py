"""The session: its runs, opening, creating and importing."""
