"""Four of the twenty newsgroups as zeros and ones: whether a message holds each of the 50 words that tell most."""

import csv
import gzip
import os
import sys
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import mutual_info_classif

GROUPS = ["rec.autos", "rec.sport.baseball", "rec.sport.hockey", "sci.space"]
FILE = "20newsgroups_4cat.csv.gz"
N_WORDS = 50


def binary_words():
    """Zeros and ones (3970, 50), and the number of each message's group."""
    texts, groups = messages()
    y = np.unique(groups, return_inverse=True)[1]
    occurs = CountVectorizer(binary=True, min_df=5).fit_transform(texts)
    telling = mutual_info_classif(occurs, y, discrete_features=True)
    return occurs[:, np.argsort(-telling, kind="stable")[:N_WORDS]].toarray(), y


def texts_in(path):
    """Texts and groups of a compressed CSV file."""
    csv.field_size_limit(sys.maxsize)
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [row["text"] for row in rows], [row["group"] for row in rows]


def messages():
    """Texts and their groups: from the folder KFREE_DATA, or from scikit-learn's fetcher, which needs a network."""
    path = Path(os.environ.get("KFREE_DATA", "")) / FILE
    if path.is_file():
        return texts_in(path)
    from sklearn.datasets import fetch_20newsgroups

    try:
        found = fetch_20newsgroups(subset="all", categories=GROUPS)
    except OSError as error:
        given = os.environ.get("KFREE_DATA")
        looked = f"{FILE} is not in KFREE_DATA={given}" if given else "the environment variable KFREE_DATA is not set"
        raise FileNotFoundError(
            f"The data set '20 newsgroups' was not found: {looked}, and sklearn.datasets.fetch_20newsgroups cannot "
            f"fetch it ({error}). Connect to a network, or set KFREE_DATA to a folder that holds {FILE} with columns "
            "text and group."
        ) from error
    return found.data, [found.target_names[label] for label in found.target]
