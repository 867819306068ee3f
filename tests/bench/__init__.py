"""Benchmarks: figures and ratios of one run on one machine; nothing here is asserted by the tests."""
