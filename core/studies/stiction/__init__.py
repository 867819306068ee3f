"""Stiction without chattering: the elastoplastic friction of seed 001, its conditions and its experiments.

`laws` holds the friction functions Φ, `bristle` the spring-damper behind them and the condition that joins the two,
`implicit` the compiled transformation Φ_Z, on `lambert`; `friction` is Algorithm 1 for a person's own loop, `table` the
look-up table of the Lambert term, `budget` the laws that follow from load-dependent budgets. `joint` and `rigs` move
something with it, `experiments` asks what the seed's section V asks. `laws` and `bristle` load no compiler.
"""
