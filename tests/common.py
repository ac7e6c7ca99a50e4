"""What tests share: blobs, samples of products, instruction sets of this machine, a mark for tests on public data."""

import os
import random
from itertools import product

import pytest

from kfree.native import _core

INSTRUCTION_SETS = _core.instruction_sets()
real_data = pytest.mark.skipif(not os.environ.get("KFREE_DATA"), reason="KFREE_DATA is not set")


def blobs(rng, n=300, d=3, k=5, spread=6.0):
    """Gaussian blobs: rows and the blob that each came from."""
    y = rng.integers(k, size=n)
    return rng.normal(size=(k, d))[y] * spread + rng.normal(size=(n, d)), y


def sampled(n, *lists, seed=0):
    """``n`` combinations of one value of each list, drawn by ``seed``; more where that leaves a value out."""
    combinations = list(product(*(range(len(values)) for values in lists)))
    drawn = random.Random(seed).sample(combinations, len(combinations))
    seen, first, rest = set(), [], []
    for places in drawn:
        new = set(enumerate(places)) - seen
        (first if new else rest).append(places)
        seen |= new
    chosen = sorted((first + rest)[: max(n, len(first))])
    return [tuple(values[place] for values, place in zip(lists, places, strict=True)) for places in chosen]
