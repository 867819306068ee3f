"""State shared by the window's tasks: session, models, servo and bench."""
