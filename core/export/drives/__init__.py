"""A servo as the position drive that an engine has: plain, with an envelope, Rhoban/bam's, and fits to each."""
