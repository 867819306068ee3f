"""What recordings can tell and what is wrong with them, before and after a fit.

`report` looks at the recordings alone: `grid` counts the conditions, `excitation` says what the motion contains and
`terms` what follows for each parameter, `timing` looks at the clock and the encoder, `outliers` at single readings,
`repeats` at runs of the same condition. `audit` asks a fitted model whether a header tells the truth: `suspects` says
what could be wrong, `corrected` simulates a run with that put right, `problem` is the least squares, `plausibility`
judges the motor's constants, `doubts` puts it into words. `torque` is the torque a model lacks along a run. Only
`audit`, `corrected`, `problem` and `torque` load the compiler.
"""
