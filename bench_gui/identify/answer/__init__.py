"""The answer of an identification: which model, how good, and what to do next."""
