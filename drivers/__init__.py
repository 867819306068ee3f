"""Servos, real and simulated, and the process that records them.

`servo` is the contract, `registry` turns an address into a servo, `simulated` is the family that needs no hardware,
and `recorder` owns a servo in its own process. This package is responsible for safety: whatever happens to the
program or its user, a servo ends up released.
"""
