"""Questions about runs and files, asked beside the work: none of them is modal."""
