"""The way of runs to the disk, and recovery of what a crash leaves of them.

A recorder's samples go to a `part` through its `writer`, which holds the run's number (`locks`); `sealing` makes the
finished file of it. `staging` adds several runs at once, and `recovery` completes what a dead process left behind.
"""
