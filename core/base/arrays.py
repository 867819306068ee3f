"""Type of the numeric arrays that `core` takes and returns; shapes and units are stated where they are used."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
