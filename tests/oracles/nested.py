"""Slow and obvious versions of clusters of clusters, written from their equations, sharing no code with kfree."""

import math

import numpy as np

from oracles.centres import sq_dist, weighted_mean


def best_cost(Z, w, labels, parents, penalties, taus, by_rows=False):
    """J of a nested partition at its best centres, which are found by solving for all of them at once.

    ``parents`` has one list per level above the finest.
    """
    sizes = [max(labels) + 1, *(max(parent) + 1 for parent in parents)]
    first = np.cumsum([0, *sizes])
    links = [(w[i], None, labels[i], Z[i]) for i in range(len(Z))]
    n = [sum(w[i] for i in range(len(Z)) if labels[i] == c) for c in range(sizes[0])]
    for level, parent in enumerate(parents):
        pull = [taus[level] * (n[c] if by_rows else 1.0) for c in range(sizes[level])]
        links += [(pull[c], first[level] + c, first[level + 1] + parent[c], None) for c in range(sizes[level])]
        n = [sum(n[c] for c in range(sizes[level]) if parent[c] == m) for m in range(sizes[level + 1])]
    A, b = np.zeros((first[-1], first[-1])), np.zeros((first[-1], len(Z[0])))
    for p, child, node, point in links:
        A[node, node] += p
        if child is None:
            b[node] += p * np.asarray(point)
        else:
            A[child, child] += p
            A[child, node] -= p
            A[node, child] -= p
    centres = np.linalg.solve(A, b)
    far = [p * sq_dist(centres[node], point if child is None else centres[child]) for p, child, node, point in links]
    return math.fsum([*far, *(price * size for price, size in zip(penalties, sizes, strict=True))])


def partitions(n):
    """All partitions of n things, as labels that are numbered in the order of their first members."""
    labels = [0] * n

    def rest(i, used):
        if i == n:
            yield list(labels)
            return
        for c in range(used + 1):
            labels[i] = c
            yield from rest(i + 1, max(used, c + 1))

    return rest(0, 0)


def cheapest_nested_partition(Z, w, penalties, taus, by_rows=False):
    """The lowest J over all nested partitions, and that partition."""

    def towers(n, height):
        if height == 0:
            yield []
            return
        for labels in partitions(n):
            for above in towers(max(labels) + 1, height - 1):
                yield [labels, *above]

    found = ((best_cost(Z, w, t[0], t[1:], penalties, taus, by_rows), t) for t in towers(len(Z), len(penalties)))
    return min(found, key=lambda pair: pair[0])


def serial_sweep(Z, w, lam, lam_group, tau):
    """Sweeps over rows and clusters of two levels, one at a time. Returns labels, groups of clusters, costs."""
    labels, groups, costs, previous = [0] * len(Z), [0], [], None
    mus, nus = _centres(Z, w, labels, groups, tau)
    while True:
        for i, x in enumerate(Z):
            near = [sq_dist(x, mu) for mu in mus]
            h = w[i] * tau / (w[i] + tau)
            to_groups = [h * sq_dist(x, nu) for nu in nus]
            if w[i] * min(near) <= lam + min(min(to_groups), lam_group):
                labels[i] = int(np.argmin(near))
                continue
            if min(to_groups) <= lam_group:
                groups.append(int(np.argmin(to_groups)))
            else:
                nus.append(np.array(x, dtype=float))
                groups.append(len(nus) - 1)
            mus.append((w[i] * np.asarray(x) + tau * nus[groups[-1]]) / (w[i] + tau))
            labels[i] = len(mus) - 1
        for c in range(len(mus)):
            members = [i for i in range(len(Z)) if labels[i] == c]
            n = sum(w[i] for i in members)
            if not members or n == 0:
                continue
            mean = weighted_mean(Z, w, members)
            far = [n * tau / (n + tau) * sq_dist(mean, nu) for nu in nus]
            if min(far) > lam_group:
                nus.append(np.array(mean))
                far.append(0.0)
            groups[c] = int(np.argmin(far))
        labels, groups = _numbered(labels, groups)
        mus, nus = _centres(Z, w, labels, groups, tau)
        costs.append(best_cost(Z, w, labels, [groups], [lam, lam_group], [tau]))
        if (labels, groups) == previous:
            return labels, groups, costs
        previous = (list(labels), list(groups))


def _numbered(labels, groups):
    """Without clusters and groups that hold nothing, the others in their order."""
    alive = sorted(set(labels))
    kept = [groups[c] for c in alive]
    used = sorted(set(kept))
    return [alive.index(c) for c in labels], [used.index(m) for m in kept]


def _centres(Z, w, labels, groups, tau):
    """The best centres of clusters and groups, by moving one after the other until nothing changes."""
    mus = [weighted_mean(Z, w, [i for i in range(len(Z)) if labels[i] == c]) for c in range(len(groups))]
    n = [sum(w[i] for i in range(len(Z)) if labels[i] == c) for c in range(len(groups))]
    means, nus = [np.array(mu) for mu in mus], []
    for m in range(max(groups) + 1):
        inside = [c for c in range(len(groups)) if groups[c] == m]
        h = [n[c] * tau / (n[c] + tau) for c in inside]
        nus.append(sum(h[j] * means[c] for j, c in enumerate(inside)) / sum(h))
    mus = [(n[c] * means[c] + tau * nus[groups[c]]) / (n[c] + tau) for c in range(len(groups))]
    return mus, nus


def gibbs(Z, lam, lam_group, tau, variance, n_sweeps, rng):
    """A Gibbs sampler of the nested model: rows N(μ, σ²), clusters N(ν, σ²/τ), prior masses exp(−penalty / 2σ²).

    Groups have a flat prior. A row's cluster is drawn given all centres, of which a new cluster integrates its own out;
    then the group of each cluster given the mean of its rows; then all centres, from their joint Gaussian.
    """
    labels, groups = [0] * len(Z), [0]
    mus, nus = _drawn_centres(Z, labels, groups, tau, variance, rng)

    def draw(costs):
        return int(np.argmin(np.asarray(costs) - 2 * variance * rng.gumbel(size=len(costs))))

    for _ in range(n_sweeps):
        for i, x in enumerate(Z):
            h = tau / (1 + tau)
            costs = [sq_dist(x, mu) for mu in mus]
            costs += [lam + h * sq_dist(x, nu) for nu in nus] + [lam + lam_group]
            choice = draw(costs)
            if choice >= len(mus):
                group = choice - len(mus)
                if group == len(nus):
                    nus.append(np.asarray(x) + math.sqrt(variance) * rng.normal(size=len(x)))
                spread = math.sqrt(variance / (1 + tau))
                mus.append((x + tau * nus[group]) / (1 + tau) + spread * rng.normal(size=len(x)))
                groups.append(group)
                choice = len(mus) - 1
            labels[i] = choice
        for c in sorted(set(labels)):
            members = [i for i in range(len(Z)) if labels[i] == c]
            mean, n = np.mean([Z[i] for i in members], axis=0), len(members)
            choice = draw([*(n * tau / (n + tau) * sq_dist(mean, nu) for nu in nus), lam_group])
            if choice == len(nus):
                nus.append(mean)
            groups[c] = choice
        labels, groups = _numbered(labels, groups)
        mus, nus = _drawn_centres(Z, labels, groups, tau, variance, rng)
    return labels, groups


def _drawn_centres(Z, labels, groups, tau, variance, rng):
    mus, nus = _centres(Z, [1.0] * len(Z), labels, groups, tau)
    noise = math.sqrt(variance)
    nus = [nu + noise / math.sqrt(tau) * rng.normal(size=len(nu)) for nu in nus]
    return [mu + noise * rng.normal(size=len(mu)) for mu in mus], nus


def same_nested(labels, groups, other_labels, other_groups):
    """Whether two nested partitions are the same but for the numbers of clusters and groups."""
    pairs = {(a, b) for a, b in zip(labels, other_labels, strict=True)}
    of_groups = {(groups[a], other_groups[b]) for a, b in pairs}
    return all(len({a for a, _ in some}) == len(some) == len({b for _, b in some}) for some in (pairs, of_groups))


__all__ = ["best_cost", "cheapest_nested_partition", "gibbs", "same_nested", "serial_sweep"]
