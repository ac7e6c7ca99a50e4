"""The columns of a table on the report page: which come first, and their means in the units of the table."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kfree.explain.features import Feature, Profile, sources_of
from kfree.explain.sentences import distinct, phrase
from kfree.explain.summary import N_FEATURES, profile_in_units

# Means on the page, over all clusters of all steps.
_CELLS = 200_000


@dataclass(frozen=True)
class ShownColumns:
    """Columns by their importance.

    ``kept`` are the numbers of the columns on the page: first those that set a cluster of the model apart most.
    ``profiles`` has for each step the effects and means of these columns. ``names``, ``units`` and ``sources`` are of
    all columns; a source is the column of the table that a name is a level of.
    """

    names: list[str]
    sources: list[str]
    kept: Any
    units: list
    profiles: list[Profile]

    def texts(self, means):
        """Means of the kept columns as text."""
        return [self.units[j].text(mean) for j, mean in zip(self.kept.tolist(), means.tolist(), strict=True)]

    def sentences(self, step, profile):
        """What sets each cluster of the model apart, in words; None for other steps."""
        if not step.is_own:
            return None
        told = []
        for effects, means, others in zip(profile.effects, profile.means, profile.others, strict=True):
            order = np.argsort(-np.abs(effects), kind="stable")[:N_FEATURES].tolist()
            places = self.kept[order].tolist()
            values = zip(effects[order].tolist(), means[order].tolist(), others[order].tolist(), strict=True)
            features = [
                Feature(self.names[place], *facts, self.units[place], self.sources[place])
                for place, facts in zip(places, values, strict=True)
            ]
            told.append(", ".join(phrase(feature) for feature in distinct(tuple(features))))
        return told


def shown_columns(steps, X, described, feature_names, encoder):
    """The columns of the page of these steps; the rows that are ``described`` of each step stand for all."""
    if feature_names is None:
        feature_names = [f"x{j}" for j in range(X.shape[1])] if encoder is None else encoder.get_feature_names_out()
    found = [
        profile_in_units(X[rows], step.labels[rows], step.k, step.parents, encoder)
        for step, rows in zip(steps, described, strict=True)
    ]
    own, units = found[_model_of(steps)]
    kept = ranked(own.effects)[: max(_CELLS // sum(step.k for step in steps), 1)]
    profiles = [_some_columns(one, kept) for one, _ in found]
    names = [str(name) for name in feature_names]
    return ShownColumns(names, sources_of(names, encoder), kept, units, profiles)


def _some_columns(one, kept):
    return replace(one, effects=one.effects[:, kept], means=one.means[:, kept], others=one.others[:, kept])


def ranked(effects):
    """Numbers of the columns, (d,): first those with the largest effect in some cluster, then the second largest …"""
    size = np.abs(effects)
    place = np.argsort(np.argsort(-size, axis=1, kind="stable"), axis=1, kind="stable")
    return np.lexsort((-size.max(axis=0), place.min(axis=0)))


def _model_of(steps):
    """The place of the step that ranks the columns: the model, or the next finer one where that has one cluster."""
    own = next(place for place, step in enumerate(steps) if step.is_own)
    finer = [place for place, step in enumerate(steps) if step.k > 1]
    return finer[0] if steps[own].k == 1 and finer else own
