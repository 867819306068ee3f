"""The Servo node of Webots before version 7 as a living actuator (seed 002, section 3.42).

What a node says is in `fields`, the rule of one step in `law`, servos in series in `chain`, the device with its modes
and measurements in `servo`. `robot`, `api`, `controller` and `program` let a controller program run on them; `kernel`,
`fitting` and `loss` find the node that is closest to a model or to recordings, and say how close that is.
"""
