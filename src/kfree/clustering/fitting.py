"""From rows of a table to a clustering: the estimator, how sure the number is, and the summary."""

from __future__ import annotations

import tempfile
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kfree.clustering.columns import Say
from kfree.clustering.result import Clustering
from kfree.clustering.rows import TableRows
from kfree.core.printing import columns_in_words
from kfree.core.stats import Labels
from kfree.core.warning import RewordedWarnings
from kfree.estimators.auto_cluster import AutoCluster
from kfree.estimators.dp_means import DPMeans
from kfree.estimators.lambda_path import lambda_path
from kfree.explain.advice import IDENTIFIERS, with_column_names
from kfree.explain.certainty import in_words, in_words_of_path
from kfree.explain.summary import summarize
from kfree.explain.table import Summary
from kfree.files.rows import open_rows
from kfree.tables.categories import Binary, Categories
from kfree.validation.parameters import require_choice, require_count

MODELS = ["auto", "round"]
_WEIGHTS_TOLD = (
    "weights count in the fit, and clusters are numbered by weight; sizes, shares and means count each row once"
)


@dataclass(frozen=True)
class FitOptions:
    """The parameters of :func:`kfree.cluster` about the fit."""

    model: str = "auto"
    k: int | None = None
    lam: float | None = None
    metric: str = "euclidean"
    memory: int | str | None = None
    n_threads: int | None = None
    random_state: int = 0

    def __post_init__(self) -> None:
        require_choice("model", self.model, MODELS)
        require_count("k", self.k, or_none=True)
        if self.k is not None and self.lam is not None:
            raise ValueError("k and lam both set the number of clusters; give one of them.")

    @property
    def asks_for_round(self) -> bool:
        return self.model == "round" or self.k is not None or self.lam is not None or self.metric == "haversine"

    def estimator(self, rows: TableRows) -> AutoCluster | DPMeans:
        """AutoCluster, or DPMeans where it cannot do what is asked for."""
        shared: dict[str, Any] = {"n_threads": self.n_threads, "random_state": self.random_state}
        if self.asks_for_round or rows.kept is None:
            lam = "auto" if self.lam is None else self.lam
            return DPMeans(lam=lam, target_k=self.k, metric=self.metric, memory=self.memory, **shared)
        # Weights of columns and distances between levels would be lost if columns were all given the same deviation.
        encoder = None if rows.preparation is None else rows.preparation.encoder
        has_levels = encoder is not None and any(isinstance(one, Categories | Binary) for one in encoder.encoders_)
        scale = "none" if has_levels or (encoder is not None and encoder.weights) else "deviation"
        return AutoCluster(metric="auto" if self.metric == "euclidean" else self.metric, scale=scale, **shared)


def clustered(
    rows: TableRows,
    options: FitOptions,
    sample_weight: ArrayLike | None,
    say: Say,
    *,
    id: str | None = None,
    first_row: int = 0,
) -> Clustering:
    """Cluster the rows of a table. Rows are called by the column ``id``, or by numbers from ``first_row`` on."""
    estimator = options.estimator(rows)
    if rows.kept is None and not options.asks_for_round:
        say("rows do not fit in memory, so that only round clusters were looked for")
    _fit(estimator, rows, sample_weight)
    if sample_weight is not None or (rows.kept is None and rows.rows.weight is not None):
        say(_WEIGHTS_TOLD)
    if isinstance(estimator, AutoCluster) and len(estimator.noise_columns_):
        columns = columns_in_words(estimator.columns_, rows.feature_names or None)
        say(f"clusters are those of {columns} alone, where they show more clearly than in all columns")
    certainty = _certainty(estimator, rows, options, sample_weight)
    labels = estimator.labels_ if rows.kept is not None else _labels_on_disk(estimator, rows.rows)
    summary = _summary(estimator, rows, labels)
    summary = replace(summary, row_names=rows.names_by(id, first_row))
    left_out = np.empty(0, dtype=np.int64) if rows.kept is None else np.flatnonzero(~rows.kept)
    title = "kfree" if rows.table is None else rows.table.name
    made = Clustering(estimator, rows.preparation, certainty, summary, [], title, left_out)
    made._fitted, made._rows, made._row_numbers, made._labels = rows.rows, rows.X, rows.row_numbers, labels
    made._gaps = rows.gaps
    return made


def _fit(estimator: Any, rows: TableRows, sample_weight: ArrayLike | None) -> None:
    """Fit, with warnings that know columns by their names."""
    with RewordedWarnings(lambda text: with_column_names(text, rows.feature_names)), warnings.catch_warnings():
        if rows.preparation is not None:  # which has named such columns
            warnings.filterwarnings("ignore", message=f".* has {IDENTIFIERS}")
        try:
            estimator.fit(rows.rows, sample_weight=sample_weight)
        except ValueError as error:
            raise ValueError(str(error).replace("target_k=", "k=")) from error
    # The preparation has them; with them, the estimator would warn about arrays, which have none.
    vars(estimator).pop("feature_names_in_", None)
    if isinstance(estimator, AutoCluster):
        estimator.reason_ = with_column_names(estimator.reason_, rows.feature_names)
        for one in estimator.candidates_:
            one["why_not"] = with_column_names(one["why_not"], rows.feature_names)


def _certainty(estimator: Any, rows: TableRows, options: FitOptions, sample_weight: ArrayLike | None) -> str:
    """How sure the number of clusters is, in words; where it was asked for, what the data suggest."""
    certainty = in_words(estimator)
    if options.k is None or rows.kept is None:
        return certainty
    settings: dict[str, Any] = {
        "metric": options.metric,
        "n_threads": options.n_threads,
        "random_state": options.random_state,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a number that is not the result
        path = lambda_path(rows.X, sample_weight, **settings)
    return f"{certainty}; without k: {in_words_of_path(path, path.suggest().k)}"


def _summary(estimator: Any, rows: TableRows, labels: Labels) -> Summary:
    """The summary, in the units of the table; sizes are those of all rows."""
    summary = summarize(estimator, rows.X, encoder=rows.preparation)
    if rows.kept is not None:
        return summary
    sizes = np.bincount(labels, minlength=len(summary.clusters))
    shares = sizes / len(labels)
    clusters = (replace(c, size=int(sizes[c.label]), share=float(shares[c.label])) for c in summary.clusters)
    return replace(summary, clusters=tuple(clusters), n_rows=len(labels))


def _labels_on_disk(model: Any, rows: Any) -> Labels:
    """Labels of all rows of files, in a file that is gone when nobody refers to it any more."""
    with tempfile.TemporaryDirectory(prefix="kfree-") as folder:
        paths = model.predict(rows, out=folder)
        labels = np.lib.format.open_memmap(Path(folder) / "all.npy", "w+", np.int32, (rows.n_rows,))
        for chunk in open_rows(paths).chunks(0, rows.n_rows, 1 << 20):
            labels[chunk.begin : chunk.begin + len(chunk.X)] = chunk.X[:, 0]
    return labels
