"""Session panel: runs, opening, creating and importing."""
