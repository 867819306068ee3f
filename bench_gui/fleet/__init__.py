"""The fleet task: many specimens of a servo identified together, and what they have in common."""
