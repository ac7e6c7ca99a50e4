"""Which public data the experiments need, how to recognise them, and what they are turned into.

``python -m reproduce data`` prints it and says what is at hand. Nothing is fetched unless ``--fetch`` is given. A
checksum is the SHA-256 of the values as float64 in row order, so that it does not depend on the kind of file.
"""

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kfree import datasets
from kfree.datasets.loading import from_folder, from_sklearn
from kfree.datasets.table import ROWS
from reproduce.kurihara_welling.newsgroups import FILE as NEWSGROUPS_FILE
from reproduce.kurihara_welling.newsgroups import texts_in

CHECKSUMS = Path(__file__).with_name("checksums.json")
NEWSGROUPS = "20-newsgroups"
_read = {}


@dataclass(frozen=True)
class Need:
    """Where a set is offered to everyone, and what experiments make of it."""

    offered: str
    becomes: str = "rows as they are"


UCI = "UCI Machine Learning Repository"
UNKNOWN_VALUES = "rows as they are; an unknown value becomes the most frequent one of its column, or −1"
NEEDS = {
    "wine": Need(f"comes with scikit-learn (load_wine); {UCI}"),
    "iris": Need(f"comes with scikit-learn (load_iris); {UCI}"),
    "pima": Need("OpenML 37"),
    "soybean-large": Need(f"OpenML 42; {UCI}, 307 rows of soybean-large.data and 376 of .test", UNKNOWN_VALUES),
    "soybean-small": Need(f"{UCI}, soybean-small.data"),
    "car": Need(f"OpenML 40975; {UCI}", "levels of each column as 0, 1, 2, …"),
    "balance-scale": Need(f"OpenML 11; {UCI}"),
    "breast-cancer-ljubljana": Need(f"OpenML 13; {UCI}", UNKNOWN_VALUES),
    "vehicle": Need(f"OpenML 54; {UCI} (Statlog)"),
    "pendigits": Need(f"OpenML 32; {UCI}", "ten random subsets of 100 rows"),
    "mnist": Need("OpenML 554", "ten random subsets of 100 rows, each projected at random to 50 columns"),
    "mnist-pca10": Need("OpenML 554", "ten principal components, each of variance one"),
    "usps": Need(
        "the digits of the CEDAR CD-ROM in 16 × 16 pixels, usps_all.mat on S. Roweis' data page",
        "means of 2 × 2 pixels, 8 × 8; they stand for the paper's CEDAR set, which is not public",
    ),
    "spambase": Need(f"OpenML 44; {UCI}", "a one where a value is above its column's median"),
    NEWSGROUPS: Need(
        "sklearn.datasets.fetch_20newsgroups", "a one where a message holds one of the 50 words that tell most"
    ),
    "usgs": Need(
        "USGS/NEIC catalogue, magnitude ≥ 5, 1973-01-01 to 2010-03-19 (mldata.org: global-earthquakes)",
        "latitude, longitude, depth on the WGS 84 ellipsoid as points in space, in equatorial radii",
    ),
    "kdd2004bio": Need("KDD Cup 2004, protein homology, bio_train.dat", "74 columns; integers in hundredths, divided"),
}


def load(name):
    """A data set of kfree, read once in a run."""
    if name not in _read:
        _read[name] = datasets.load(name)
    return _read[name]


def at_hand(name):
    """The values of a set and where they are, from the folder KFREE_DATA or from scikit-learn; None if in neither."""
    if name == NEWSGROUPS:
        path = Path(os.environ.get("KFREE_DATA", "")) / NEWSGROUPS_FILE
        return (texts_in(path)[0], str(path)) if path.is_file() else None
    entry = ROWS[name]
    found = from_folder(entry) or from_sklearn(entry)
    return None if found is None else (found[0][entry.rows], found[1])


def checksum(values):
    """SHA-256 of numbers as float64 in row order, or of texts in UTF-8."""
    if isinstance(values, list):
        return hashlib.sha256("\0".join(values).encode()).hexdigest()
    return hashlib.sha256(np.ascontiguousarray(values, dtype="<f8").tobytes()).hexdigest()


def size_of(values):
    return [len(values)] if isinstance(values, list) else list(values.shape)


def known():
    """Size and checksum by name."""
    return json.loads(CHECKSUMS.read_text(encoding="utf-8"))


def state_of(name):
    """What is at hand of a set, in words."""
    found = at_hand(name)
    if found is None:
        return "not at hand"
    values, where = found
    same = checksum(values) == known()[name]["sha256"]
    return f"at hand: {where}" if same else f"DIFFERS from what the numbers were made with: {where}"


def to_fetch(names):
    """The sets among these that a run would fetch or miss."""
    return [name for name in names if at_hand(name) is None]


def listing(experiments):
    """For every experiment its sets; then for every set what it is."""
    text = ["Data by experiment (others make their own):", ""]
    text += [f"  {name:26} {', '.join(one.data)}" for name, one in experiments.items() if one.data]
    for name, need in NEEDS.items():
        about = known()[name]
        size = " × ".join(f"{n:,}" for n in about["size"])
        file = NEWSGROUPS_FILE if name == NEWSGROUPS else f"{ROWS[name].file}.npz"
        text += ["", f"{name}: {size}, sha256 {about['sha256']}", f"  offered by   {need.offered}"]
        text += [f"  looked for   {file} in the folder KFREE_DATA", f"  turned into  {need.becomes}"]
        text += [f"  {state_of(name)}"]
    return "\n".join(text)


def measure():
    """Write sizes and checksums of the sets at hand; for maintainers."""
    found = {name: at_hand(name)[0] for name in NEEDS}
    kept = {name: {"size": size_of(values), "sha256": checksum(values)} for name, values in found.items()}
    CHECKSUMS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
