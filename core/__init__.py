"""Physics and mathematics of the bench: parameters, friction, actuators, kernels, identification, export.

Nothing here knows about Qt, serial ports or file stores; the other rooms import this one, never the reverse.
The package imports nothing on its own, so that `bench --help` stays instant: import the module you need.
"""
