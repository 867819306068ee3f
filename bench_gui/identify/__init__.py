"""Identification: settings, the process that searches, live cost and parameters, results."""
