"""Record page: trajectory, queue of runs, live plots."""
