"""Commands about many units of a servo."""
