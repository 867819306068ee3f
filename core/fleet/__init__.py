"""Fleets: many specimens of a servo identified on as many processors as there are, and what they have in common.

`plan` divides the work into tasks named by what they depend on, `driver` has an executor do those that are missing,
`store` keeps what they find, `result` reads a fleet back; `population` describes the units as one kind of servo.
"""
