"""Compare page: measured and simulated motion of any runs and models, and their errors."""
