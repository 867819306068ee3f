"""Which recordings would help most."""
