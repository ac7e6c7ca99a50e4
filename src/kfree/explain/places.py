"""Where clusters of places on the Earth are, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kfree.explain.units import short
from kfree.explain.view import View

# The share of rows within the radius of a place.
_WITHIN = 0.9
# Kilometres of a degree of latitude, and the most decimals of degrees that are shown: ten metres.
_A_DEGREE, _MOST_DECIMALS = 111.2, 4


@dataclass(frozen=True)
class Place:
    """Where a cluster of places is.

    Attributes
    ----------
    latitude, longitude : float
        The centre, in degrees.
    radius : float
        Nine of ten rows are within so many km of the centre.
    """

    latitude: float
    longitude: float
    radius: float

    def __str__(self) -> str:
        ratio = _A_DEGREE / self.radius if self.radius > 0 else math.inf
        decimals = _MOST_DECIMALS if ratio >= 10**_MOST_DECIMALS else max(0, math.ceil(math.log10(ratio)))
        where = f"{_degrees(self.latitude, 'NS', decimals)}, {_degrees(self.longitude, 'EW', decimals)}"
        return f"around {where}" + (f", nine of ten within {short(self.radius)} km" if self.radius > 0 else "")


def places_of(view: View) -> list[Place | None]:
    """The place of each cluster; None where rows are no places."""
    if view.places is None:
        return [None] * view.n_clusters
    reach = [
        np.quantile(own, _WITHIN) if len(own := view.dist[view.labels == c]) else 0.0 for c in range(len(view.places))
    ]
    return [Place(float(lat), float(lon), float(far)) for (lat, lon), far in zip(view.places, reach, strict=True)]


def _degrees(value: float, signs: str, decimals: int) -> str:
    rounded = round(value, decimals)
    sign = "" if abs(rounded) in (0, 180) else f" {signs[rounded < 0]}"
    return f"{abs(rounded):.{decimals}f}°{sign}"
