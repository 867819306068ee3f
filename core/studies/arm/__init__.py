"""Arms of two joints: their links and motion, measured and simulated, and the friction of both joints."""
