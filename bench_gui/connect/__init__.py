"""The servo and the bench it hangs on: connecting, what answered, the pendulum."""
