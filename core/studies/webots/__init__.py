"""The Servo node of Webots before version 7 as a simulated actuator (Webots Reference Manual, section 3.42).

`fields` holds the node's fields, `law` the rule of one step, `chain` servos in series, and `servo` the device with its
modes and measurements. `robot`, `api`, `controller` and `program` let a controller program run on them. `kernel`,
`fitting` and `loss` find the node that is closest to a model or to recordings, and state its error. Section numbers in
this package, such as 3.42.5, refer to that manual.
"""
