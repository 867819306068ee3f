"""Background work of the window: threads for files, processes for physics."""
