"""Servos as the bench sees them, real and simulated, and the process that records them.

`servo` is the contract, `registry` turns an address a person types into a servo, `simulated` is the family that
needs no hardware, `recorder` owns a servo in its own process. Safety lives here: whatever happens to the program
or the person in front of it, a servo ends up released.
"""
