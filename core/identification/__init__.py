"""Identification: from recordings to a servo model with its evidence.

`split` divides recordings, `objective` scores whole populations through the kernel, and `search` is CMA-ES with
restarts. `study` keeps the record, `fitting` combines them for one model, `identify` for all, and `evaluate` scores a
finished model.
"""
