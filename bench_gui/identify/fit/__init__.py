"""The search for a model: what is asked, the process that searches, what it says and shows."""
