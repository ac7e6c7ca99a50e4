"""The tree of clusters of clusters: nodes of all levels, as text, as a table, and as SciPy's linkage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from kfree.core.cached import cached
from kfree.core.marks import FINITE, AtLeast, Below, Shape, require
from kfree.core.optional import optional
from kfree.core.stats import Floats, Index, Labels, Stats
from kfree.objectives.dp_means import DPMeansObjective
from kfree.objectives.nested import NestedObjective
from kfree.search.agglomerate import agglomerate

# Letters that end a name in Newick's format unless it is quoted.
_SPECIAL = set(" ()[]':;,\t\n")


@dataclass(frozen=True)
class ClusterTree:
    """Nodes of all levels, those of the coarsest first and, in a level, by label.

    Attributes
    ----------
    level, label : ndarray of shape (n_nodes,)
        The level of each node, 0 for the coarsest, and its label there.
    parents : ndarray of shape (n_nodes,)
        The number of each node's parent; −1 on the coarsest level.
    sizes : ndarray of shape (n_nodes,)
        Total weight of the rows of each node: their number, unless ``fit`` had weights.
    centres : ndarray of shape (n_nodes, n_features)
    """

    level: Annotated[Index, Shape("nodes"), AtLeast(0)]
    label: Annotated[Labels, Shape("nodes"), Below("nodes")]
    parents: Annotated[Index, Shape("nodes"), Below("nodes", least=-1)]
    sizes: Annotated[Floats, Shape("nodes"), AtLeast(0.0)]
    centres: Annotated[Floats, Shape("nodes", None), FINITE]

    def _restored(self) -> None:
        counts = np.bincount(self.level)
        ok = bool((np.diff(self.level) >= 0).all()) and bool(counts.all())
        ok = ok and np.array_equal(self.label, np.concatenate([np.arange(count) for count in counts]))
        ok = ok and np.array_equal(self.level[self.parents[counts[0] :]], self.level[counts[0] :] - 1)
        require(ok and bool((self.parents[: counts[0]] == -1).all()), "tree", "has nodes that are no levels")

    @classmethod
    def of_levels(cls, parents: Sequence[Labels], sizes: Sequence[Floats], centres: Sequence[Floats]) -> ClusterTree:
        """From arrays by level, coarsest first; ``parents`` of a level are labels of the one before it."""
        first = np.cumsum([0, *map(len, sizes)])
        numbers = [np.full(len(sizes[0]), -1), *(first[j] + parent for j, parent in enumerate(parents))]
        return cls(
            np.repeat(np.arange(len(sizes)), [len(size) for size in sizes]),
            np.concatenate([np.arange(len(size), dtype=np.int32) for size in sizes]),
            np.concatenate(numbers).astype(np.int64),
            np.concatenate(sizes),
            np.vstack(centres),
        )

    @property
    def n_levels(self) -> int:
        return int(self.level[-1]) + 1

    def __len__(self) -> int:
        return len(self.level)

    def nodes(self, level: int) -> Index:
        """The numbers of the nodes of a level, in the order of their labels."""
        return np.flatnonzero(self.level == level)

    def children(self, node: int) -> Index:
        """The numbers of the nodes inside a node; none for clusters of the finest level."""
        return np.flatnonzero(self.parents == node)

    def siblings(self, level: int) -> Labels:
        """The parent of each node of a level, by label; all zero on the coarsest."""
        parents = self.parents[self.nodes(level)]
        return np.zeros(len(parents), np.int32) if level == 0 else self.label[parents]

    def at_level(self, labels: Any, level: int) -> Labels:
        """Labels of the finest level as labels of another one; −1 stays."""
        node = self.nodes(self.n_levels - 1)
        for _ in range(self.n_levels - 1 - level):
            node = self.parents[node]
        return np.where(labels < 0, np.int32(-1), self.label[node].astype(np.int32).take(labels))

    def to_newick(self, names: Sequence[str] | None = None) -> str:
        """The tree in Newick's format; branches are as long as the distance between the centres of node and parent.

        Parameters
        ----------
        names : sequence of str or None, default=None
            Names of the clusters of the finest level; None takes their labels. Other nodes are called by level and
            label, such as ``0.2``.

        Returns
        -------
        text : str
        """
        leaves = self.nodes(self.n_levels - 1)
        given = [str(label) for label in range(len(leaves))] if names is None else [str(name) for name in names]
        if len(given) != len(leaves):
            raise ValueError(f"names has {len(given)} names for {len(leaves)} clusters; give one for each.")
        title = {int(leaf): name for leaf, name in zip(leaves, given, strict=True)}

        def text(node: int) -> str:
            inside = ",".join(text(int(child)) for child in self.children(node))
            name = _quoted(title.get(node, f"{self.level[node]}.{self.label[node]}"))
            parent = int(self.parents[node])
            length = 0.0 if parent < 0 else float(np.linalg.norm(self.centres[node] - self.centres[parent]))
            return f"{f'({inside})' if inside else ''}{name}:{length:.6g}"

        return f"({','.join(text(int(node)) for node in self.nodes(0))});"

    def to_frame(self) -> Any:
        """One row per node as a pandas data frame: level, label, parent, size, share of the weight, children."""
        pandas = optional("pandas", "to_frame needs pandas: pip install pandas")
        columns = {
            "level": self.level,
            "label": self.label,
            "parent": self.parents,
            "size": self.sizes,
            "share": self.sizes / self.sizes[self.level == 0].sum(),
            "n_children": np.bincount(self.parents[self.parents >= 0], minlength=len(self)),
        }
        return pandas.DataFrame(columns, index=pandas.Index(np.arange(len(self)), name="node"))

    @cached
    def linkage_(self) -> Floats | None:
        """The tree as a linkage of SciPy, whose leaves are the clusters of the finest level; None for one cluster.

        Where a node has more than two children, these are merged pair by pair, the pair first that adds least to the
        SSE. Heights are these increases, raised where they would fall, so that a cut into as many parts as a level has
        nodes gives this level.
        """
        leaves = self.nodes(self.n_levels - 1)
        if len(leaves) == 1:
            return None
        merges: list[list[float]] = []
        stats = Stats.of_points(self.centres[leaves], self.sizes[leaves])
        number, height = np.arange(len(leaves)), 0.0
        for level in range(self.n_levels - 1, -1, -1):
            parent = self.siblings(level)
            for a, b, cost in _merges_inside(stats, parent):
                height = max(height, cost)
                size = _leaves_of(merges, int(number[a]), len(leaves)) + _leaves_of(merges, int(number[b]), len(leaves))
                merges.append([*sorted((float(number[a]), float(number[b]))), height, float(size)])
                stats.absorb(a, b, cost)
                number[a] = len(leaves) + len(merges) - 1
            first = np.unique(parent, return_index=True)[1]
            stats, number = stats.take(first), number[first]
        return np.array(merges)

    def __str__(self) -> str:
        """The nodes as an indented text."""
        lines: list[str] = []

        def add(node: int) -> None:
            lines.append(f"{'  ' * int(self.level[node])}{self.label[node]}  ({self.sizes[node]:g})")
            for child in self.children(node):
                add(int(child))

        for node in self.nodes(0):
            add(int(node))
        return "\n".join(lines)


@dataclass(frozen=True)
class TreeCost:
    """J of rows in a tree that stays as it was fitted; centres and parents as the search numbers them, finest first."""

    nested: NestedObjective
    centres: tuple[Floats, ...]
    parents: tuple[Labels, ...]

    @property
    def lam(self) -> float:
        return self.nested.lam

    def cost(self, stats: Stats) -> float:
        """J of rows about the centres of the finest level."""
        return self.nested.cost(stats.sse, stats.n, self.centres, self.parents)


def _merges_inside(stats: Stats, parent: Labels) -> list[tuple[int, int, float]]:
    """Pairs (a, b) of nodes to merge until each parent has one, its first; the cheapest first, b joins a."""
    found = []
    for inside in (np.flatnonzero(parent == p) for p in np.unique(parent)):
        merges = agglomerate(stats.take(inside), DPMeansObjective(0.0))
        pairs = inside[merges.pairs].tolist()
        found += [(cost, a, b) for (a, b), cost in zip(pairs, merges.costs.tolist(), strict=True)]
    return [(a, b, cost) for cost, a, b in sorted(found, key=lambda merge: merge[0])]


def _leaves_of(merges: list[list[float]], node: int, n_leaves: int) -> int:
    return 1 if node < n_leaves else int(merges[node - n_leaves][3])


def _quoted(name: str) -> str:
    """A name that Newick's format can hold."""
    return "'" + name.replace("'", "''") + "'" if _SPECIAL & set(name) or not name else name
