"""Identification of the joints of an assembled robot."""
