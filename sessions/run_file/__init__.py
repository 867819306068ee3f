"""The HDF5 file of a finished run: its layout, the hash of its bytes, and the trial of foreign files."""
