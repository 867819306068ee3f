"""Identification page: settings, search process, live cost and parameters, results."""
