"""Identification: from recordings to a servo model with its evidence.

`split` divides recordings, `objective` scores whole populations through the kernel, `search` is CMA-ES with restarts,
`study` keeps the record, `identify` ties them together, `evaluate` judges a finished model.
"""
