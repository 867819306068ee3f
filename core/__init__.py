"""Physics and mathematics of the bench: parameters, friction, actuators, kernels, identification, export.

Nothing here knows about Qt, serial ports or file stores; the other packages import this one, never the reverse.
The package itself imports nothing, which keeps `bench --help` fast: import the module you need.
"""
