"""The window and its headless twin `bench`: one folder per task a person does; no physics, protocol or HDF5."""
