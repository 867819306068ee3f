"""Export a fleet's spread as files for domain randomisation."""
