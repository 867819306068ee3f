"""Stiction without chattering: the elastoplastic friction of Cisneros et al., its conditions and its experiments.

The paper is R. Cisneros, M. Benallegue, R. Kikuuwe, M. Morisawa and F. Kanehiro, "Reliable chattering-free simulation
of friction torque in joints presenting high stiction". In `core.contact`, `laws` holds the friction functions Φ,
`bristle` the spring-damper behind them and its soundness condition, and `implicit` the compiled transformation Φ_Z, on
`lambert`. Here, `friction` is Algorithm 1 for the user's own loop, `table` the look-up table of the Lambert term, and
`budget` the laws of load-dependent budgets. `joint` moves a joint with friction, and `experiments` are those of section
V. `laws` and `bristle` load no compiler.
"""
