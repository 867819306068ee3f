"""Commands about sessions and what is in them."""
