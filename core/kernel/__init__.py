"""The simulation kernel: one step, written once, compiled for one servo and for a whole population.

`layout` says what a candidate's numbers are, `mathops` holds the elementary functions, `step` the physics of one
time step, `rollout` runs one candidate and keeps every sample, `population` runs many candidates over one
recording in SIMD lanes and keeps only error sums. Nothing is compiled before it is called; compiled code is cached
on disk.
"""
