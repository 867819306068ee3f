"""The window around the tasks: docks, menus, command palette, preferences, closing, a second start."""
