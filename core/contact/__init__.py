"""Contact with friction (seed 001): velocity laws, their implicit form, and the bristle that makes them computable."""
