"""Learned baselines: small nets trained through roll-outs on the bench and judged beside the physics models.

Only `learning` is imported without PyTorch; the other modules need the extra `learn`.
"""
