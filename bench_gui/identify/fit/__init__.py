"""Model search: request, search process, messages, and their display."""
