"""Results as data: tables and plots, which window, terminal and paper render."""
