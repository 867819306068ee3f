"""A tour of the order of work, beside the work: it points at what comes next and follows what a person does."""
