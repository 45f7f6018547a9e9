"""The arrays that plugins compute on: one entry per node row."""

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Columns = NDArray[np.int64]
Codes = NDArray[np.int32]
