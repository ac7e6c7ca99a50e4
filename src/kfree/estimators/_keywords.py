"""Constructors whose errors name the right parameter, where a user gives one of another library or no name."""

import difflib
import functools
import inspect
from collections.abc import Callable
from typing import TypeVar, cast

from kfree.validation.parameters import shown

Init = TypeVar("Init", bound=Callable[..., None])
# What other libraries call the number of clusters, and the scale of a cluster.
_COUNTS = ("n_clusters", "k", "n_components")
_SCALES = ("eps", "min_cluster_size", "min_samples")


def keyword_only(init: Init) -> Init:
    """``__init__`` of an estimator, with errors that say which parameter was meant. Its signature stays the same."""
    parameters = list(inspect.signature(init).parameters.values())[1:]
    names = [parameter.name for parameter in parameters]
    n_positional = sum(parameter.kind is not inspect.Parameter.KEYWORD_ONLY for parameter in parameters)

    @functools.wraps(init)
    def checked(self, *args, **given):
        kind = type(self).__name__
        if len(args) > n_positional:
            raise TypeError(_about_positional(kind, names, args[n_positional]))
        for name in given:
            if name not in names:
                raise TypeError(f"{kind} has no parameter {name}. {_meant(kind, names, name, given[name])}")
        init(self, *args, **given)

    return cast(Init, checked)


def _about_positional(kind, names, value):
    choices = [f"target_k={shown(value)} for a number of clusters"] if "target_k" in names else []
    choices += [f"{name}={shown(value)} for a penalty" for name in _penalties(names)]
    hint = f"Give {', or '.join(choices)}." if choices else f"Parameters: {', '.join(names)}."
    return f"parameters of {kind} need their names, and {shown(value)} has none. {hint}"


def _meant(kind, names, name, value):
    """What to give in place of a parameter that an estimator lacks."""
    if name in _COUNTS:
        return _meant_count(kind, names, value)
    penalties = _penalties(names)
    if name in _SCALES and penalties:
        listed = " and ".join(penalties)
        return f"How fine clusters are is set by {listed}, the penalty of a cluster; a smaller one gives more clusters."
    guess = difflib.get_close_matches(name, names, n=1)
    return f"Did you mean {guess[0]}?" if guess else f"Parameters: {', '.join(names)}."


def _meant_count(kind, names, value):
    for count in ("target_k", "n_clusters"):
        if count in names:
            return f"Give {count}={shown(value)}."
    return f"{kind} determines the number of clusters. Use kfree.KMeans(n_clusters={shown(value)}) to give it."


def _penalties(names):
    return [name for name in names if name.startswith("lam")]
