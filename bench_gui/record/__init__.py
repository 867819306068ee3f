"""Recording: trajectory, queue of runs, live plots."""
