from collections.abc import Callable

from numpy import float64
from numpy.typing import NDArray

class OptimizeResult:
    x: NDArray[float64]
    fun: float

class RootResults:
    root: float

def least_squares(
    fun: Callable[[NDArray[float64]], NDArray[float64]],
    x0: NDArray[float64],
    jac: Callable[[NDArray[float64]], NDArray[float64]],
    bounds: tuple[float, float],
    *,
    max_nfev: int | None = ...,
) -> OptimizeResult: ...
def minimize(
    fun: Callable[[NDArray[float64]], float], x0: NDArray[float64], *, method: str, options: dict[str, float]
) -> OptimizeResult: ...
def root_scalar(
    f: Callable[[float], float], *, bracket: tuple[float, float], method: str, xtol: float, rtol: float
) -> RootResults: ...
