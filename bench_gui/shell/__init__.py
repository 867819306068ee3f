"""What surrounds the tasks: docks, menus, command palette, settings, closing, a second start."""
