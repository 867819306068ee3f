"""Information in recordings and problems with them, before and after a fit.

`report` uses the recordings alone. `grid` counts the conditions, `excitation` describes the motion, and `terms` what
follows for each parameter. `timing` checks clock and encoder, `outliers` single readings, `repeats` runs of the same
condition. `audit` uses a fitted model to check the headers: `suspects` lists possible errors, `corrected` simulates a
run without one, `problem` is the least squares, `plausibility` checks the motor's constants, and `doubts` has the text.
`torque` is the torque that a model lacks along a run. Only `audit`, `corrected`, `problem` and `torque` load the
compiler.
"""
