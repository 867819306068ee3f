"""Writing runs to the disk, and recovery after a crash.

A recorder's samples go through a `writer`, which holds the run's number (`locks`), to a `part`; `sealing` turns it into
the finished file. `staging` adds several runs at once, and `recovery` completes what a dead process left behind.
"""
