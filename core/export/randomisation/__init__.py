"""A fleet's spread as files for domain randomisation."""
