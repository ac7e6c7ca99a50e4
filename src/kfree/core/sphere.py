"""Places on the Earth: latitude and longitude in degrees, unit vectors, and distances in km.

A search minimises squared chords R²·(2 − 2 cos) between unit vectors, whose best centres are mean directions. Distances
are reported as arcs R·θ, which are longer: by 1 % at about 3,100 km.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from kfree.core.blocks import row_blocks
from kfree.core.stats import Floats

# The mean radius of the Earth (IUGG), in km.
EARTH_RADIUS = 6371.0088
SQ_EARTH_RADIUS = EARTH_RADIUS**2
# What is computed on the way takes little memory.
_ROWS_AT_ONCE = 65536


def require_degrees(X: Any, name: str = "X", first_row: int = 0) -> None:
    """Raise unless X has two dense columns, latitude from −90 to 90 and longitude from −180 to 360.

    ``first_row`` is the number of its first row.
    """
    if sp.issparse(X) or X.shape[1] != 2:
        kind = "is sparse" if sp.issparse(X) else f"has {X.shape[1]} columns"
        raise ValueError(
            f"{name} {kind}, and metric='haversine' takes two dense columns: latitude and longitude in degrees. Give "
            "these two columns alone."
        )
    for column, (what, low, high) in enumerate((("latitude", -90, 90), ("longitude", -180, 360))):
        outside = np.flatnonzero((X[:, column] < low) | (X[:, column] > high))
        if len(outside):
            row, value = first_row + int(outside[0]), float(X[outside[0], column])
            raise ValueError(
                f"{name}[{row}, {column}] = {value:g} (row {row}) is no {what}: metric='haversine' "
                "takes latitude from −90 to 90 and longitude from −180 to 360 degrees, in this order. Check the order "
                "of the columns, and that angles are in degrees."
            )


def require_latitude_first(names: Sequence[Any] | None) -> None:
    """Raise if two columns are named longitude and latitude, in this order; degrees of both may fit either."""
    if names is None or len(names) != 2:
        return
    first, second = (str(name).strip().casefold() for name in names)
    if first.startswith(("lon", "lng")) and second.startswith("lat"):
        raise ValueError(
            f"the columns are {names[0]!r} and {names[1]!r}, and places are given as latitude and longitude, in this "
            f"order. Give {names[1]!r} first."
        )


def unit_vectors(degrees: Any) -> Floats:
    """Points (n, 3) of the unit sphere at latitudes and longitudes (n, 2)."""
    degrees = np.asarray(degrees)
    found = np.empty((len(degrees), 3))
    for some in row_blocks(len(degrees), _ROWS_AT_ONCE):
        latitude, longitude = np.deg2rad(degrees[some].astype(np.float64)).T
        across = np.cos(latitude)
        found[some] = np.column_stack([across * np.cos(longitude), across * np.sin(longitude), np.sin(latitude)])
    return found


def degrees_of(vectors: Floats) -> Floats:
    """Latitudes and longitudes (n, 2) of directions (n, 3); longitudes are above −180 and up to 180."""
    x, y, z = vectors.T
    found: Floats = np.rad2deg(np.column_stack([np.arctan2(z, np.hypot(x, y)), np.arctan2(y, x)]))
    return found


def arcs(sq_chords: Floats) -> Floats:
    """Arcs in km of squared chords of the unit sphere."""
    found: Floats = 2 * EARTH_RADIUS * np.arcsin(np.minimum(np.sqrt(sq_chords) / 2, 1.0))
    return found


def chords(arc_lengths: Floats) -> Floats:
    """Chords of the unit sphere that have these arcs in km; the diameter for arcs that are longer than half of it."""
    found: Floats = 2 * np.sin(np.minimum(arc_lengths / (2 * EARTH_RADIUS), np.pi / 2))
    return found
