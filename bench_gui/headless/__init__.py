"""Recording, reports, fleets and tools, shared by the window and the command line; nothing here imports Qt."""
