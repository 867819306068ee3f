"""Shared by window and command line: recording, reports, fleets and tools without Qt."""
