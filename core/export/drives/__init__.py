"""Servos as the position drives of engines: plain, with a torque-speed envelope, and Rhoban/bam's, and fits to each."""
