"""Identification: from recordings to a servo model with its evidence.

`split` divides recordings, `objective` scores whole populations through the kernel, `search` is CMA-ES with restarts,
`study` keeps the record, `fitting` ties them together for one model, `identify` for all, `evaluate` judges a finished
one.
"""
