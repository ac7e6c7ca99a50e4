"""Types of fields that many models have: an array with its shape and range, or a number with its range."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kfree.core.marks import FINITE, OPTIONAL, AtLeast, Below, Permutation, Scalar, Shape, Size
from kfree.core.sparse import ArrayOrCSR
from kfree.core.stats import Floats, Index, Labels

Number: TypeAlias = Annotated[float, FINITE]
NotNegative: TypeAlias = Annotated[float, AtLeast(0.0)]
Count: TypeAlias = Annotated[int, AtLeast(0)]
# A number or a text that names a column, a level or a group.
Name: TypeAlias = Annotated[Any, Scalar()]

# k clusters, n rows of the fit, d coordinates of the search; f columns of X.
NumberOfClusters: TypeAlias = Annotated[int, Size("k"), AtLeast(1)]
Centres: TypeAlias = Annotated[Floats, Shape("k", "d"), FINITE]
PerCluster: TypeAlias = Annotated[Floats, Shape("k"), FINITE]
# NaN for clusters that are ignored.
SpreadPerCluster: TypeAlias = Annotated[Floats, Shape("k")]
ClusterIds: TypeAlias = Annotated[Index, Shape("k"), AtLeast(0)]
Order: TypeAlias = Annotated[Index, Shape("k"), Permutation()]
Rank: TypeAlias = Annotated[Labels, Shape("k"), Permutation()]
RowLabels: TypeAlias = Annotated[Labels, Shape("n"), Below("k", least=-1)]
RowsKept: TypeAlias = Annotated[ArrayOrCSR, Shape("n", "f"), FINITE]
PerCoordinate: TypeAlias = Annotated[Floats, Shape("d"), FINITE]
Covariances: TypeAlias = Annotated[Floats, Shape("k", "d", "d"), FINITE]
History: TypeAlias = Annotated[Floats, Shape("moves"), FINITE]

NumberOfColumns: TypeAlias = Annotated[int, Size("f"), AtLeast(1)]
# Where the coordinates of the search are the columns of X.
NumberOfCoordinates: TypeAlias = Annotated[int, Size("f"), Size("d"), AtLeast(1)]
ColumnNames: TypeAlias = Annotated[NDArray[np.object_], Shape("f"), OPTIONAL]
