from numpy import float64
from numpy.typing import NDArray

class CMA:
    _sigma: float
    def __init__(
        self,
        mean: NDArray[float64],
        sigma: float,
        bounds: NDArray[float64] | None = ...,
        n_max_resampling: int = ...,
        seed: int | None = ...,
        population_size: int | None = ...,
    ) -> None: ...
    def ask(self) -> NDArray[float64]: ...
    def tell(self, solutions: list[tuple[NDArray[float64], float]]) -> None: ...
    def should_stop(self) -> bool: ...
