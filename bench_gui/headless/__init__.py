"""What window and command line share: recording, reports, fleets and tools without Qt."""
