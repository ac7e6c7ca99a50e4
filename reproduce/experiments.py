"""What can be run: a name, what it is, a function of ``quick``, and why results differ from the paper's."""

from functools import partial

from reproduce.kulis_jordan import limit, photo_tourism, section6_3, three_gaussians
from reproduce.kulis_jordan import table1 as kj_table1
from reproduce.kurihara_welling import (
    bic,
    figures,
    generators,
    kd_tree_counts,
    prior,
    readings,
    table1,
    table2,
    well_separated,
)
from reproduce.odashima import figure3, grid, tables
from reproduce.result import Experiment

FIGURE_2A = (
    "The paper states neither means nor covariances. Here they are three round Gaussians on a triangle, at such "
    "distances that DP-means reaches the paper's NMI."
)
FIGURE_2B = (
    "The number of sweeps until the sampler finds three clusters depends on α: the lines with a fixed α show by "
    "how much. The paper's point, thousands of sweeps and then three clusters, is seen for α = 0.1. With α under "
    "its Gamma prior, or with the α that the validation set chooses here, the sampler is there after a few "
    "sweeps, and has more than three clusters on average in the second half. The paper states neither the scale "
    "of the data relative to ρ = 100 nor the priors of α and σ."
)
FIGURE_2C = (
    "The paper sees a large interval of λ with three clusters. Whether there is one for the published sweep "
    "depends on the layout of the Gaussians, which the paper does not state: on a triangle it is narrow, with two "
    "near and one far it is many times as wide. The lam path minimises the cost for every penalty, and has a wide "
    "interval in all three layouts."
)
FIGURE_2D = "A picture without numbers: the rows of one data set of §6.3, coloured by the Gaussian that they came from."
LIMIT = (
    "α = (1 + ρ/σ)^(d/2)·exp(−λ/(2σ)) as in §3.1, λ = 20, fifteen sweeps from one cluster on the three Gaussians "
    "of Fig. 2a. The agreement grows as σ falls. It does not become 1 on all data sets: a row that is alone in "
    "its cluster leaves it before it looks for the nearest centre, while Algorithm 1 keeps it there "
    "(theory/limit.md), and a row about √λ from a centre can go either way as long as σ > 0."
)
KJ_TABLE_1 = (
    "Rows are used as they are. UCI has two soybean sets, and the paper does not say which it used, nor what it "
    "did with the unknown values of the large one: all three readings are shown. The α and σ of Gibbs are chosen "
    "by the classes of the 30 % that are held out, with chains as long as the paper's (§6.2) and a tenth of their "
    "samples. *NMI rewards many clusters*: the notes have the adjusted mutual information, which is 0 by chance, "
    "the number of clusters, and the NMI of the same clusters with shuffled classes. Where Gibbs has ninety "
    "clusters for two classes (pima), most of its NMI is that of shuffled classes, and being above the paper's "
    "number means nothing."
)
PHOTO = (
    "Made-up descriptors of the same size, around 200 patterns; processor seconds in one thread. The paper does "
    "not say how many clusters there were."
)
SECTION_6_3 = (
    "The positions of the fifteen means limit every method, and the paper drew them once; here are means over "
    "draws, and methods are compared within a draw. The paper's 0.81 is held against three fits: its own "
    "algorithm with its own rule for both penalties (§6.1; which point of the farthest data set joins T is not "
    "said, here its farthest row), kfree's search with the same penalties, and HardHDP() with penalties that it "
    "chooses itself."
)
KW_TABLE_1 = (
    "*The data.* Centroids and deviations are drawn such that no two clusters are closer than τ deviations, but "
    "the paper does not say how. Uniform centres that are only drawn again if they are too close ignore τ in many "
    "columns (table1-well-separated), so here the closest pair is exactly τ·√D deviations apart, and deviations "
    "are uniform from 0.2 to 1 of the largest: one of six readings that come about equally near to the paper's "
    "numbers (table1-generators). *G-means* splits what is not Gaussian along an axis: overlapping Gaussians of "
    "different widths. So the smallest τ gives more than ten clusters with 1,000 rows or more, but for 1,000 rows in "
    "32 columns, and fewer than ten with 100 rows; its critical value is not printed. *k-means+BIC* "
    "counts k·D + k parameters. *MoG+BIC* adds a millionth of the mean variance to covariances; how the paper "
    "treated singular ones is not said. *BKM* and *VBMG* have the prior of Eq. 21, whose d_small comes from the "
    'narrowest Gaussian (table1-readings, table1-prior). "BKM, published search" is the box of §6; "BKM" goes on '
    "from there and ends with more clusters where that lowers the free energy. *CGibbs* ran for 300 sweeps from "
    "one cluster; the paper does not say for how long."
)
GENERATORS = (
    "The mean over cases and methods of |log(clusters found / the paper's)|, one data set a case: 0 would be the "
    "paper's table. On the cases that were computed, the six readings in which τ binds differ little from each "
    "other, and all are nearer to the paper than the last one, in which it does not bind in many columns. Table 1 "
    "uses the second, which is the nearest by little."
)
WELL_SEPARATED = (
    "With this placement the data of one seed are the same for every τ in 32 and 64 columns, so that a line has "
    "thirty data sets of one condition, and no line of the paper to be compared with. The centres are so far "
    "apart that G-means finds about ten in every line."
)
PRIOR = (
    "On well separated data. What kfree finds has a lower free energy than the ten Gaussians, even after their "
    'labels were updated to a local optimum ("least" is the least difference among the data sets): the search '
    "does its work, and the model with Eq. 21 asks for these clusters. B0/η0, the covariance that Eq. 21 expects, "
    "has the trace d_small², with d_small from the three closest pairs. These come from the tightest Gaussian; "
    "with fewer rows than columns in a cluster most directions have no rows in them, and the prior alone decides. "
    "With the median distance to the nearest neighbour for d_small the numbers are nearer to ten. *With few rows "
    "in many columns*: project to a few principal components first, or use `DPMeans`, or give a stiffer prior "
    "such as `prior={'xi0': 0.01, 'eta0': 2 * D, 'B0': D * v * np.eye(D)}` with v the variance of a column within "
    "a cluster. In two columns Gaussians overlap, and hard labels gain by cutting along the overlap."
)
READINGS = (
    "On well separated data. d_small comes from the closest pairs, so from the narrowest Gaussian, and B0 expects "
    "this width of all: the numbers of clusters depend on how alike the Gaussians are. With equal widths they are "
    "joined. With widths within a factor of two the sampler's numbers are about a fifth above the paper's. The other "
    "reading of Eq. 21, neighbours within the tenth, which has ten rows here, gives a larger ± than the paper has in "
    "five of six lines. No variant gives the paper's columns together."
)
BIC = (
    "Three Gaussians in the plane with their true labels. With a fixed prior the difference to half of BIC settles at "
    "a constant, as §4 says. With Eq. 21 it grows: B0 has the factor d_small², which falls as rows come "
    "in, and every cluster pays for that (theory/free-energy.md)."
)
KW_TABLE_2 = (
    "ABC is the highest on all five sets, as in the paper. Linkages by distance have no parameter: they differ from "
    "the paper's by the random subsets, by the digits that stand for CEDAR, and by how mails and messages became zeros "
    'and ones. Two of fifteen are lower by more than chance. "ABC" uses kfree\'s default, the median distance to the '
    "nearest neighbour for d_small; Eq. 22 as published, with the three closest pairs, is below it on all three sets "
    "of digits."
)
KW_FIGURE_3 = (
    "The paper shows one data set for each τ, and so do we; Table 1 has ten. The note says how the free energy of "
    "the ten Gaussians compares with what was found."
)
KW_FIGURE_4 = (
    "The paper shows one example, of purity 0.816, and its Table 2 has a mean of 0.742 for larger subsets of the "
    "same mails. kfree's number is the mean over random subsets. The paper does not state how mails became zeros "
    "and ones."
)
KW_FIGURE_5 = (
    "The paper compares with a plain loop, kfree with its own compiled pass over all rows, which leaves less to "
    "gain, most of all in many columns. Conga lines evaluate more pairs than kfree's plain search, as the notes "
    "say, and are slower from 400 rows on."
)
KD_TREE_COUNTS = (
    "The paper has a kd-tree for counts as well (§10, Fig. 5). The bound says what the best possible boxes could "
    "save: much in two to eight columns, nothing in 128. kfree has no such tree."
)
OD_TABLES = (
    "kfree's default is compared with the paper's best, SMD. SD and SMD follow the printed algorithms, which "
    "leave details open. OD and SD depend on the order of the rows: five in a full run, one in a quick one. Our "
    "seconds are those of the processor."
)
OD_TABLE_5 = "kfree's default is compared with the paper's grid search over k."
OD_FIGURE_3 = "The paper states no numbers for this figure. The data are five Gaussians in two groups of two and three."
OD_GRID = (
    "The grid is scikit-learn's k-means for twelve values of k, three starts each; its cost is the least of "
    f"inertia + lam·k, and its seconds those of the processor for all twelve. It was made {grid.about()}."
)

EXPERIMENTS = {
    "kulis-jordan/figure2a": Experiment("DP-means on three Gaussians", three_gaussians.figure2a, FIGURE_2A),
    "kulis-jordan/figure2b": Experiment("Gibbs sampling on three Gaussians", three_gaussians.figure2b, FIGURE_2B),
    "kulis-jordan/figure2c": Experiment("clusters over lam on three Gaussians", three_gaussians.figure2c, FIGURE_2C),
    "kulis-jordan/figure2d": Experiment("one of fifty small data sets", section6_3.figure2d, FIGURE_2D),
    "kulis-jordan/limit": Experiment("Gibbs sampling becomes DP-means as σ → 0", limit.result, LIMIT),
    "kulis-jordan/table1": Experiment(
        "agreement with the classes of eight UCI sets",
        kj_table1.result,
        KJ_TABLE_1,
        data=tuple(dict.fromkeys(rows for _, rows, _ in kj_table1.CASES.values())),
        cells="kulis-jordan-table1",
    ),
    "kulis-jordan/photo-tourism": Experiment(
        "seconds per iteration on 312,320 × 128", photo_tourism.result, PHOTO, stand_in=", rows made up"
    ),
    "kulis-jordan/section6-3": Experiment("clusters shared by fifty small data sets", section6_3.result, SECTION_6_3),
    "kurihara-welling/table1": Experiment(
        "clusters found among ten Gaussians",
        table1.result,
        KW_TABLE_1,
        stand_in=", Gaussians drawn by our reading",
        cells="kurihara-welling-table1",
    ),
    "kurihara-welling/table1-generators": Experiment(
        "which Gaussians come nearest to the paper's numbers",
        generators.result,
        GENERATORS,
        cells="kurihara-welling-table1-generators",
    ),
    "kurihara-welling/table1-well-separated": Experiment(
        "clusters found among ten Gaussians that are well separated",
        well_separated.result,
        WELL_SEPARATED,
        cells="kurihara-welling-table1-well-separated",
    ),
    "kurihara-welling/table1-prior": Experiment(
        "why few rows in many columns give many clusters", prior.result, PRIOR, cells="kurihara-welling-table1-prior"
    ),
    "kurihara-welling/table1-readings": Experiment(
        "two readings of d_small, and widths", readings.result, READINGS, cells="kurihara-welling-table1-readings"
    ),
    "kurihara-welling/bic": Experiment("the free energy and BIC for many rows", bic.result, BIC),
    "kurihara-welling/table2": Experiment(
        "purity of trees on digits, mail and news",
        table2.result,
        KW_TABLE_2,
        data=("pendigits", "usps", "mnist", "spambase", "20-newsgroups"),
        stand_in=", but for CEDAR",
    ),
    "kurihara-welling/figure3": Experiment("Bayesian k-means in the plane", figures.figure3, KW_FIGURE_3),
    "kurihara-welling/figure4": Experiment("a tree of mails", figures.figure4, KW_FIGURE_4, data=("spambase",)),
    "kurihara-welling/figure5": Experiment("speed-up by kd-trees and conga lines", figures.figure5, KW_FIGURE_5),
    "kurihara-welling/kd-tree-counts": Experiment(
        "what a kd-tree could save for counts", kd_tree_counts.result, KD_TREE_COUNTS
    ),
    "odashima/table1": Experiment(
        "cost on earthquakes (USGS)", partial(tables.costs, "usgs"), OD_TABLES, data=("usgs",), cells="odashima-fits"
    ),
    "odashima/table2": Experiment(
        "cost on digits (MNIST)",
        partial(tables.costs, "mnist-pca10"),
        OD_TABLES,
        data=("mnist-pca10",),
        cells="odashima-fits",
    ),
    "odashima/table3": Experiment(
        "cost on proteins (KDD2004BIO)",
        partial(tables.costs, "kdd2004bio"),
        OD_TABLES,
        data=("kdd2004bio",),
        cells="odashima-fits",
    ),
    "odashima/table5": Experiment(
        "number of clusters in the given order of rows",
        tables.n_clusters,
        OD_TABLE_5,
        data=("usgs", "mnist-pca10", "kdd2004bio"),
        cells="odashima-fits",
    ),
    "odashima/figure3": Experiment("splits and merges on two groups of Gaussians", figure3.result, OD_FIGURE_3),
    "odashima/grid": Experiment(
        "kfree's default against k-means for twelve values of k",
        grid.result,
        OD_GRID,
        data=("usgs", "mnist-pca10", "kdd2004bio"),
        cells="odashima-fits",
    ),
}
