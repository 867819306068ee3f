"""Fleets: identify many specimens of a servo in parallel, and describe what they have in common.

`plan` divides the work into tasks with content-based keys. `driver` has an executor do the missing ones, `store` keeps
their results, and `result` reads a fleet back. `population` describes the units as one kind of servo.
"""
