"""What the tasks of the window share: the open session, the models at hand, the servo and the bench as set up."""
