"""How certain each value is: profiles and a bootstrap."""
