"""What can be run: a name, what it is, and a function that returns the lines of a table."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from reproduce.kulis_jordan import section6_3
from reproduce.kurihara_welling import table1, table2
from reproduce.odashima import grid, tables


@dataclass(frozen=True)
class Experiment:
    about: str
    run: Callable


EXPERIMENTS = {
    "kulis_jordan/section6_3": Experiment("clusters shared by fifty small data sets", section6_3.lines),
    "kurihara_welling/table1": Experiment("clusters found among ten Gaussians", table1.lines),
    "kurihara_welling/table2": Experiment("purity of trees on digits, mail and news", table2.lines),
    "odashima/table1": Experiment("cost on earthquakes (USGS)", partial(tables.costs, "usgs")),
    "odashima/table2": Experiment("cost on digits (MNIST)", partial(tables.costs, "mnist-pca10")),
    "odashima/table3": Experiment("cost on proteins (KDD2004BIO)", partial(tables.costs, "kdd2004bio")),
    "odashima/table5": Experiment("number of clusters in the given order of rows", tables.n_clusters),
    "odashima/grid": Experiment("kfree's default against k-means for twelve values of k", grid.lines),
}
