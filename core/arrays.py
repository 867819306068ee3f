"""The type of the arrays of numbers that `core` takes and returns; shapes and units stand where they are used."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
