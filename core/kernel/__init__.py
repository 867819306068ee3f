"""The simulation kernel: one step, written once, compiled for one servo and for a whole population.

`layout` defines the numbers of a candidate, `mathops` the elementary functions, and `step` the physics of one time
step. `rollout` simulates one candidate and keeps every sample. `population` simulates many candidates over recordings
in SIMD lanes and keeps only error sums. Nothing is compiled before its first call, and compiled code is cached on disk.
"""
