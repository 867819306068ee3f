"""Fleet page: many units of a servo identified together, and the spread between them."""
