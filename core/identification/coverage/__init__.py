"""Information in recordings and problems with them, before and after a fit.

`report` uses the recordings alone. `grid` counts the conditions, `excitation` describes the motion, and `terms` what
follows for each parameter. `timing` checks clock and encoder, `outliers` single readings, `repeats` runs of the same
condition. `audit` uses a fitted model to check the headers: `doubts` lists possible errors, `problem` is the least
squares, `plausibility` checks the motor's constants, and `causes` has errors that all runs share. Only `audit`,
`causes` and `problem` load the compiler.
"""
