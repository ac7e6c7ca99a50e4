"""The page of places on the Earth: a map of latitudes and longitudes in place of columns."""

from kfree.explain.units import short
from kfree.report.data import assembled, number, require_rows_of_fit
from kfree.report.steps import slider_steps

# Digits of degrees: a metre or so.
_DIGITS = 8


def places_data(model, X, feature_names=None, **about):
    """What the page needs of a fitted DPMeans under haversine: one clustering, and centres in degrees.

    Means of longitudes mislead across the date line, so that no column describes a cluster.
    """
    require_rows_of_fit(model, X)
    names = ["latitude", "longitude"] if feature_names is None else list(map(str, feature_names))
    axes = dict(zip(names, X.T, strict=True))
    found = assembled(slider_steps(model, X, None), X, names, axes=axes, digits=_DIGITS, **about)
    (step,) = found["steps"]
    centres = [[number(degrees, _DIGITS) for degrees in centre] for centre in model.cluster_centers_]
    nothing = [[] for _ in centres]
    step |= {"centres": centres, "effects": nothing, "means": nothing, "sentences": None}
    step["note"] = f"lam {short(model.lam_)} km²"
    return found | {"features": [], "places": True}
