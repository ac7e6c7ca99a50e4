"""Dips of the density between clusters against their definition, pair by pair."""

import numpy as np
import pytest
from common import blobs

from kfree.core.spaces import EUCLIDEAN
from kfree.engines.registry import open_engine
from kfree.search.path.density_dips import NARROW, WIDE, Trial, density_dips, unimodality


def slow_pairs(X, centres, n_nearest):
    """Each centre with its nearest ones; rows and centres without what lies off the flat that the centres span."""
    nearest = [int(np.argmin([((x - c) ** 2).sum() for c in centres])) for x in X]
    pairs = set()
    for a, centre in enumerate(centres):
        gaps = [np.inf if b == a else np.linalg.norm(centre - other) for b, other in enumerate(centres)]
        pairs |= {tuple(sorted((a, int(b)))) for b in np.argsort(gaps)[:n_nearest]}
    basis = np.linalg.svd(centres - centres.mean(axis=0))[2][: min(len(centres) - 1, X.shape[1])]
    return sorted(pairs), nearest, (X - centres.mean(axis=0)) @ basis.T, (centres - centres.mean(axis=0)) @ basis.T


def slow_places(X, nearest, centres, a, b, tube):
    """The places of the rows near the way from a to b, by row number, with coordinates and one row at a time."""
    axis = (centres[b] - centres[a]) / np.linalg.norm(centres[b] - centres[a])
    t = (X - (centres[a] + centres[b]) / 2) @ axis
    off = np.linalg.norm(X - (centres[a] + centres[b]) / 2 - np.outer(t, axis), axis=1) ** 2
    wide = np.quantile([off[i] for i in range(len(X)) if nearest[i] in (a, b)], tube)
    places = {}
    for i in range(len(X)):
        at = [np.mean([t[j] for j in range(len(X)) if nearest[j] == c and j != i]) for c in (a, b)]
        if off[i] <= wide + 1e-12 and in_cell(X[i], centres, a, b):
            places[i] = (t[i] - (at[0] + at[1]) / 2) / (at[1] - at[0])
    return places


def inside(places, centre, half):
    return [i for i, place in places.items() if abs(place - centre) < half and abs(place) < 0.75]


def slow_dips(X, centres, tube, n_nearest):
    """Between each centre and its nearest ones: what the middle falls short of, and the variance of the sum."""
    pairs, nearest, X, centres = slow_pairs(X, centres, n_nearest)
    excess, influence = [], np.zeros(len(X))
    for a, b in pairs:
        places = slow_places(X, nearest, centres, a, b, tube)
        left, middle, right = (inside(places, centre, 0.25) for centre in (-0.5, 0.0, 0.5))
        excess.append(np.sqrt(len(left) * len(right)) - len(middle))
        if left and right:
            influence[left] += np.sqrt(len(right) / len(left)) / 2
            influence[right] += np.sqrt(len(left) / len(right)) / 2
        influence[middle] -= 1
    return np.array(excess), (influence**2).sum()


def slow_unimodality(X, training, centres, tube, n_nearest):
    """The same for the window that is emptiest among the training rows, and the emptier of the ends."""
    pairs, nearest, X, flat = slow_pairs(X, centres, n_nearest)
    _, nearest_of_training, training, _ = slow_pairs(training, centres, n_nearest)
    excess, influence = [], np.zeros(len(X))
    for a, b in pairs:
        placed = slow_places(training, nearest_of_training, flat, a, b, tube)
        counts = {place: len(inside(placed, place, 0.125)) for place in np.linspace(-0.3, 0.3, 13)}
        lowest = [place for place, count in counts.items() if count == min(counts.values())]
        places = slow_places(X, nearest, flat, a, b, tube)
        left, middle, right = (inside(places, centre, 0.125) for centre in (-0.5, lowest[len(lowest) // 2], 0.5))
        emptier = left if len(left) <= len(right) else right
        excess.append(len(emptier) - len(middle))
        influence[emptier] += 1
        influence[middle] -= 1
    return np.array(excess), (influence**2).sum()


def in_cell(x, centres, a, b):
    """Whether x is nearer to the way from a to b, at its point next to c, than to c, for every other centre c."""
    way = centres[b] - centres[a]
    for c in set(range(len(centres))) - {a, b}:
        foot = centres[a] + np.clip((centres[c] - centres[a]) @ way / (way @ way), 0, 1) * way
        if np.linalg.norm(x - foot) > np.linalg.norm(x - centres[c]):
            return False
    return True


@pytest.mark.parametrize("d", [3, 8])
@pytest.mark.parametrize("look", [WIDE, NARROW])
def test_dips_are_those_of_the_definition(rng, d, look, monkeypatch):
    monkeypatch.setattr("kfree.search.path.density_dips.WIDE", look)
    X, y = blobs(rng, n=160, d=d, k=5, spread=2.0)
    trials, found, variance, unimodal, other_variance = [], [], 1.0, [], 1.0
    for rows, others in [(X[:80], slice(80, 160)), (X[80:], slice(80))]:
        centres = np.array([X[others][y[others] == j].mean(axis=0) for j in range(5)])
        engine = open_engine("auto", rows)
        training = open_engine("auto", X[others], frame=engine.frame)
        trials.append(Trial(engine, engine.frame.inward(centres), training))
        excess, own = slow_dips(rows, centres, *look)
        found, variance = np.append(found, excess), variance + own
        excess, own = slow_unimodality(rows, X[others], centres, *look)
        unimodal, other_variance = np.append(unimodal, excess), other_variance + own
    judged = density_dips(trials)
    np.testing.assert_allclose(judged.z, found.sum() / np.sqrt(variance))
    assert judged.share == np.mean(found > 0)
    assert judged.n_pairs == len(found)
    np.testing.assert_allclose(unimodality(trials, EUCLIDEAN, look), unimodal.sum() / np.sqrt(other_variance))


def test_weights_count_as_rows_in_dips(rng):
    X, y = blobs(rng, n=80, d=2, k=2)
    centres = np.array([X[y == j].mean(axis=0) for j in range(2)])
    plain, heavy = (open_engine("auto", X, weight=weight) for weight in (None, np.full(80, 7.0)))
    one, other = ([Trial(engine, engine.frame.inward(centres), engine)] for engine in (plain, heavy))
    assert density_dips(one) == density_dips(other)
    assert unimodality(one, EUCLIDEAN, WIDE) == unimodality(other, EUCLIDEAN, WIDE) > 0
