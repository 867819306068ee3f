"""Work at the bench: plan, live twin, zero, placing by hand, feedforward."""
