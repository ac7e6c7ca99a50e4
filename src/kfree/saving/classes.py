"""The classes that a saved model may hold, under the names that they have in files. Files name no modules."""

from dataclasses import dataclass
from importlib import import_module

import numpy as np

_ESTIMATORS = [
    "AgglomerativeBayes",
    "BayesianKMeans",
    "DPMeans",
    "GraphDPMeans",
    "HardHDP",
    "KMeans",
    "KernelDPMeans",
    "NestedDPMeans",
    "OnlineDPMeans",
    "SpectralDPMeans",
]

# Name in files: where the class lives now.
PLACES = {
    **{name: f"kfree:{name}" for name in _ESTIMATORS},
    "BernoulliModel": "kfree.objectives.bernoulli:BernoulliModel",
    "Binary": "kfree.tables.categories:Binary",
    "Categories": "kfree.tables.categories:Categories",
    "Certificate": "kfree.spectral.counts:Certificate",
    "CentreModel": "kfree.models.centres:CentreModel",
    "EmbeddingModel": "kfree.models.embedding:EmbeddingModel",
    "GroupModel": "kfree.models.groups:GroupModel",
    "KernelModel": "kfree.models.kernel:KernelModel",
    "PosteriorModel": "kfree.models.posterior:PosteriorModel",
    "SpreadSample": "kfree.explain.spread:SpreadSample",
    "ClusterTree": "kfree.models.cluster_tree:ClusterTree",
    "CosineNestedObjective": "kfree.objectives.nested:CosineNestedObjective",
    "CosineObjective": "kfree.objectives.dp_means:CosineObjective",
    "CountStats": "kfree.core.stats:CountStats",
    "CutStaircase": "kfree.search.graph.cut_staircase:CutStaircase",
    "CutStats": "kfree.objectives.cut:CutStats",
    "DPMeansObjective": "kfree.objectives.dp_means:DPMeansObjective",
    "Dates": "kfree.tables.numeric:Dates",
    "DirichletProcessMixture": "kfree.objectives.mixtures:DirichletProcessMixture",
    "Drawn": "kfree.engines.files.facts:Drawn",
    "Dual": "kfree.core.spaces:Dual",
    "Euclidean": "kfree.core.spaces:Euclidean",
    "EventLog": "kfree.search.events:EventLog",
    "Facts": "kfree.engines.files.facts:Facts",
    "FeatureSpace": "kfree.models.feature_space:FeatureSpace",
    "FiniteMixture": "kfree.objectives.mixtures:FiniteMixture",
    "Frame": "kfree.core.frame:Frame",
    "FreeEnergy": "kfree.objectives.free_energy:FreeEnergy",
    "Gaussian": "kfree.spectral.affinity:Gaussian",
    "GaussianModel": "kfree.objectives.gaussian:GaussianModel",
    "GaussianStats": "kfree.core.stats:GaussianStats",
    "Given": "kfree.spectral.affinity:Given",
    "HDPObjective": "kfree.objectives.hdp:HDPObjective",
    "Kernel": "kfree.engines.kernel.gram:Kernel",
    "LeftOut": "kfree.tables.fitting:LeftOut",
    "LinearRule": "kfree.core.rules:LinearRule",
    "LocalGaussian": "kfree.spectral.affinity:LocalGaussian",
    "Merges": "kfree.search.agglomerate:Merges",
    "MicroStream": "kfree.search.micro_stream:MicroStream",
    "MultinomialModel": "kfree.objectives.multinomial:MultinomialModel",
    "NearestDonor": "kfree.tables.gaps:NearestDonor",
    "NeighbourSpreads": "kfree.explain.spread:NeighbourSpreads",
    "Neighbours": "kfree.spectral.affinity:Neighbours",
    "NestedObjective": "kfree.objectives.nested:NestedObjective",
    "NodeSums": "kfree.engines.parts:NodeSums",
    "NormalizedCut": "kfree.objectives.cut:NormalizedCut",
    "Numeric": "kfree.tables.numeric:Numeric",
    "Ordinal": "kfree.tables.numeric:Ordinal",
    "Penalty": "kfree.search.micro_stream:Penalty",
    "Preparation": "kfree.cli.preparation:Preparation",
    "Products": "kfree.spectral.affinity:Products",
    "QuadraticRule": "kfree.core.rules:QuadraticRule",
    "RatioCut": "kfree.objectives.cut:RatioCut",
    "RegionRows": "kfree.engines.drawing:RegionRows",
    "RowStream": "kfree.engines.local.stream:RowStream",
    "Sites": "kfree.core.sites:Sites",
    "Stats": "kfree.core.stats:Stats",
    "Spreads": "kfree.explain.spread:Spreads",
    "Staircase": "kfree.search.path.staircase:Staircase",
    "Stream": "kfree.native._core:Stream",
    "StreamClusters": "kfree.search.micro_stream:Clusters",
    "StreamReference": "kfree.native.reference.online:Stream",
    "Surroundings": "kfree.spectral.affinity:Surroundings",
    "TableEncoder": "kfree:TableEncoder",
    "Transform": "kfree.tables.transforms:Transform",
    "TreeCost": "kfree.models.cluster_tree:TreeCost",
    "Tree": "kfree.search.evidence.tree:Tree",
    "Verdicts": "kfree.search.path.verdicts:Verdicts",
}


# Attributes that files do not hold: a note of the rows of a fit, which are not saved either.
LEFT_OUT = ("_rows_of_fit_",)


@dataclass(frozen=True)
class Kind:
    """How objects of one class are packed and rebuilt; ``build`` runs no code from the file."""

    cls: type

    def state(self, value):
        return {name: part for name, part in vars(value).items() if name not in LEFT_OUT}

    def build(self, state):
        value = self.cls.__new__(self.cls)
        vars(value).update(state)
        return value


class CompiledStream(Kind):
    """The compiled stream: its state is a tuple of numbers and arrays, whose shapes must agree."""

    def state(self, value):
        return {"state": value.__getstate__()}

    def build(self, state):
        settings, counters, ids, last, weight, centres, low, high, n_features = state["state"]
        k, n_boxes = len(ids), len(ids) if settings[0] else 0
        expected = [(k,)] * 3 + [(k, n_features)] + [(n_boxes, n_features)] * 2
        if [np.shape(array) for array in (ids, last, weight, centres, low, high)] != expected:
            raise ValueError("the arrays of a stream have shapes that do not agree")
        value = self.cls.__new__(self.cls)
        value.__setstate__((settings, counters, ids, last, weight, centres, low, high, n_features))
        return value


class Neighbourhood(Kind):
    """Rows and their neighbours; the search structure of scikit-learn is built again from the rows."""

    def state(self, value):
        return {name: part for name, part in vars(value).items() if name != "search"}

    def build(self, state):
        from sklearn.neighbors import NearestNeighbors

        value = super().build(state)
        value.search = NearestNeighbors(n_neighbors=value.n_neighbors + 1).fit(value.X)
        return value


class Donors(Kind):
    """Rows that missing values are taken from; the imputer of scikit-learn is built again from them."""

    def state(self, value):
        return {"rows": value.rows}

    def build(self, state):
        return self.cls.of(state["rows"])


_SPECIAL = {"Stream": CompiledStream, "Surroundings": Neighbourhood, "NearestDonor": Donors}


def kind(name):
    """The kind with this name in files."""
    if name not in PLACES:
        raise ValueError(f"it holds a {name!r}, which this version does not support")
    module, attribute = PLACES[name].split(":")
    return _SPECIAL.get(name, Kind)(getattr(import_module(module), attribute))


def name_of(cls):
    """The name in files of a class, or None."""
    candidates = [name for name, place in PLACES.items() if place.endswith(f":{cls.__name__}")]
    return next((name for name in candidates if kind(name).cls is cls), None)
