"""What can be run: a name, what it is, a function of ``quick``, and why ours differs where it does."""

from functools import partial

from reproduce.kulis_jordan import photo_tourism, section6_3, three_gaussians
from reproduce.kulis_jordan import table1 as kj_table1
from reproduce.kurihara_welling import figures, prior, table1, table2
from reproduce.odashima import figure3, grid, tables
from reproduce.result import Experiment

EXPERIMENTS = {
    "kulis-jordan/figure2a": Experiment("DP-means on three Gaussians", three_gaussians.figure2a),
    "kulis-jordan/figure2b": Experiment("Gibbs sampling on three Gaussians", three_gaussians.figure2b),
    "kulis-jordan/figure2c": Experiment("clusters over lam on three Gaussians", three_gaussians.figure2c),
    "kulis-jordan/figure2d": Experiment("one of fifty small data sets", section6_3.figure2d),
    "kulis-jordan/table1": Experiment("agreement with the classes of eight UCI sets", kj_table1.result),
    "kulis-jordan/photo-tourism": Experiment("seconds per iteration on 312,320 × 128", photo_tourism.result),
    "kulis-jordan/section6-3": Experiment("clusters shared by fifty small data sets", section6_3.result),
    "kurihara-welling/table1": Experiment("clusters found among ten Gaussians", table1.result),
    "kurihara-welling/table1-prior": Experiment("why few rows in many columns give many clusters", prior.result),
    "kurihara-welling/table2": Experiment("purity of trees on digits, mail and news", table2.result),
    "kurihara-welling/figure3": Experiment("Bayesian k-means in the plane", figures.figure3),
    "kurihara-welling/figure4": Experiment("a tree of mails", figures.figure4),
    "kurihara-welling/figure5": Experiment("speed-up by kd-trees and conga lines", figures.figure5),
    "odashima/table1": Experiment("cost on earthquakes (USGS)", partial(tables.costs, "usgs")),
    "odashima/table2": Experiment("cost on digits (MNIST)", partial(tables.costs, "mnist-pca10")),
    "odashima/table3": Experiment("cost on proteins (KDD2004BIO)", partial(tables.costs, "kdd2004bio")),
    "odashima/table5": Experiment("number of clusters in the given order of rows", tables.n_clusters),
    "odashima/figure3": Experiment("splits and merges on two groups of Gaussians", figure3.result),
    "odashima/grid": Experiment("kfree's default against k-means for twelve values of k", grid.result),
}
