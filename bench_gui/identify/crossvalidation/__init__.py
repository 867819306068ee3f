"""Which model holds on conditions it has not seen."""
