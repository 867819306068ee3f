"""Commands about the systems of other papers."""
