"""Reference implementation of the compiled code for graphs: the same functions in Python, same names and arguments.

A graph is ``begin`` (n + 1,), ``neighbour`` and ``weight`` (each edge at both ends), ``out`` (n,), ``volume`` (n,).
"""

from collections import deque
from itertools import pairwise

import numpy as np

# Rounds of a thorough search, and visits of a node in one round on average: beyond, rounding moves nodes to and fro.
MOST_ROUNDS, MOST_VISITS, ENOUGH_VISITS = 100, 200, 1000


def move_nodes(begin, neighbour, weight, out, volume, lam, least_gain, thorough, order, block, label):
    """in order, block; in and out label (n,). Returns the number of moves, below zero if nodes were still moving."""
    mover, total = _Mover(begin, neighbour, weight, out, volume, lam, least_gain, block, label), 0
    for _ in range(MOST_ROUNDS if thorough else 1):
        mover.measure()
        moved, is_done = mover.round(order, hosts=mover.hosts() if thorough else [])
        total += moved
        if not is_done:
            return -total
        if not moved or not thorough:
            return total
    return -total


class _Mover:
    def __init__(self, begin, neighbour, weight, out, volume, lam, least_gain, block, label):
        self.begin, self.neighbour, self.weight, self.out, self.volume = begin, neighbour, weight, out, volume
        self.lam, self.least_gain, self.block, self.label = lam, least_gain, block, label

    def measure(self):
        """Sums of the clusters as they are."""
        n, label = len(self.out), self.label
        self.size, self.total_out, self.total_volume = [0] * n, [0.0] * n, [0.0] * n
        for i in range(n):
            own = label[i]
            self.size[own] += 1
            self.total_volume[own] += self.volume[i]
            for j, w in self.links(i):
                if label[j] != own:
                    self.total_out[own] += w
        self.empty = [c for c in range(n - 1, -1, -1) if not self.size[c]]

    def links(self, i):
        here = slice(self.begin[i], self.begin[i + 1])
        return list(zip(self.neighbour[here].tolist(), self.weight[here].tolist(), strict=True))

    def rate(self, c):
        return self.total_out[c] / self.total_volume[c]

    def hosts(self):
        """Clusters of which one is the best for a node that has no link to any of them."""
        found, volumes = [], []
        for c in sorted((c for c in range(len(self.size)) if self.size[c]), key=lambda c: -self.rate(c)):
            if not found or self.total_volume[c] > max(volumes) or self.total_volume[c] < min(volumes):
                found.append(c)
                volumes.append(self.total_volume[c])
        return found

    def round(self, order, hosts):
        waiting, queued, moved = deque(order.tolist()), set(order.tolist()), 0
        left = MOST_VISITS * len(order) + ENOUGH_VISITS
        while waiting and left:
            left -= 1
            i = waiting.popleft()
            queued.discard(i)
            own = int(self.label[i])
            around = [(j, w) for j, w in self.links(i) if self.block[j] == self.block[i]]
            linked = {}
            for j, w in around:
                linked[int(self.label[j])] = linked.get(int(self.label[j]), 0.0) + w
            change, to = self.best_place(i, own, linked, hosts)
            if self.leaving(i, own, linked) + change < -self.least_gain:
                self.move(i, own, to, linked)
                moved += 1
                for j, _ in around:
                    if j not in queued and self.label[j] != to:
                        queued.add(j)
                        waiting.append(j)
        return moved, not waiting

    def leaving(self, i, own, linked):
        if self.size[own] == 1:
            return -self.rate(own) - self.lam
        left = self.total_out[own] - self.out[i] + 2 * linked.get(own, 0.0)
        return left / (self.total_volume[own] - self.volume[i]) - self.rate(own)

    def joining(self, i, c, linked):
        joined = self.total_out[c] + self.out[i] - 2 * linked.get(c, 0.0)
        return joined / (self.total_volume[c] + self.volume[i]) - self.rate(c)

    def best_place(self, i, own, linked, hosts):
        offers = [(self.joining(i, c, linked), c) for c in [*linked, *hosts] if c != own and self.size[c]]
        if self.size[own] > 1:
            offers.append((self.out[i] / self.volume[i] + self.lam, self.empty[-1]))
        return min(offers, key=lambda offer: offer[0], default=(-self.leaving(i, own, linked), own))

    def move(self, i, own, to, linked):
        if not self.size[to]:
            self.empty.pop()
        self.total_out[own] += 2 * linked.get(own, 0.0) - self.out[i]
        self.total_out[to] += self.out[i] - 2 * linked.get(to, 0.0)
        self.total_volume[own] -= self.volume[i]
        self.total_volume[to] += self.volume[i]
        self.size[to] += 1
        self.size[own] -= 1
        if not self.size[own]:
            self.total_out[own] = self.total_volume[own] = 0.0
            self.empty.append(own)
        self.label[i] = to


def contract(begin, neighbour, weight, out, volume, label, new_begin, new_neighbour, new_weight, new_out):
    """out: the graph whose nodes are the clusters of ``label``, without volumes."""
    for c in range(len(new_out)):
        links = {}
        for i in np.flatnonzero(label == c):
            for e in range(begin[i], begin[i + 1]):
                other = label[neighbour[e]]
                if other != c:
                    links[other] = links.get(other, 0.0) + weight[e]
        here = slice(new_begin[c], new_begin[c] + len(links))
        new_begin[c + 1] = here.stop
        new_neighbour[here], new_weight[here] = list(links), list(links.values())
        new_out[c] = sum(links.values())


def merge_neighbours(begin, neighbour, weight, out, volume, below, pairs, cost):
    """out pairs (n − 1, 2), cost (n − 1,). Returns how many merges there were."""
    out, volume = out.tolist(), volume.tolist()
    links = [dict(zip(neighbour[a:b].tolist(), weight[a:b].tolist(), strict=True)) for a, b in pairwise(begin.tolist())]

    def merge_cost(a, b):
        return (out[a] + out[b] - 2 * links[a][b]) / (volume[a] + volume[b]) - (out[a] / volume[a] + out[b] / volume[b])

    for n_merges in range(len(cost)):
        offers = [(merge_cost(a, b), a, b) for a in range(len(out)) for b in links[a] if a < b]
        best, kept, gone = min(offers, default=(np.inf, 0, 0))
        if not best < below:
            return n_merges
        pairs[n_merges], cost[n_merges] = (kept, gone), best
        out[kept] += out[gone] - 2 * links[kept][gone]
        volume[kept] += volume[gone]
        for c, w in links[gone].items():
            del links[c][gone]
            if c != kept:
                links[kept][c] = links[c][kept] = links[kept].get(c, 0.0) + w
        links[gone] = {}
    return len(cost)
