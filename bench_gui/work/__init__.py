"""Work beside the window: threads for files, a process for physics."""
