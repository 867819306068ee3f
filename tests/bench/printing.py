"""How figures are printed."""


def line(name: str, value: str, bar: str = "") -> None:
    """Print one figure with its bar."""
    print(f"{name:<66} {value:>22}   {bar}", flush=True)
