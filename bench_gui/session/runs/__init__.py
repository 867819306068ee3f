"""Table of the session's runs: cells, order and filter."""
