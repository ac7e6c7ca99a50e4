"""Reference implementation of the compiled passes over groups (groups/hdp.hpp) in NumPy: same names and arguments.

Rows ``member`` come in groups: those of group g are member[begin[g]:begin[g + 1]]. ``used`` (number of groups, k) says
which of the shared sites a group uses, each at the penalty ``lam_local``.
"""

from itertools import pairwise

import numpy as np

from kfree.core.sum_tree import join
from kfree.native.reference.rows import sq_dists

# A change must gain this share of a group's cost to be more than rounding.
LEAST_GAIN = 1e-12


def allot(rows, member, begin, centres, lam_local, n_threads, used, label, sq_dist, cost, successor):
    """Every group chooses the sites that it uses, and its rows go to the nearest of those.

    The choice is a local optimum: no site more, less or instead of another is cheaper. A group without weight uses
    nothing. in-out used; out label, sq_dist (n,). out cost (k,), successor (k, k), or None: the cost of removing each
    site, and where rows would go.
    """
    if cost is not None:
        successor[:] = False
    costs = []
    for group, index in enumerate(_members(member, begin)):
        gaps, weight = sq_dists(rows.z(index), centres), rows.weight[index]
        choice = _choice(gaps, weight, np.flatnonzero(used[group]), lam_local) if weight.any() else []
        used[group] = False
        used[group, choice] = True
        open_sites = np.flatnonzero(used[group]) if len(choice) else np.arange(len(centres))
        nearest = gaps[:, open_sites].argmin(axis=1)
        label[index] = open_sites[nearest]
        sq_dist[index] = gaps[np.arange(len(index)), label[index]]
        costs.append(np.zeros(len(centres)))
        if cost is not None and len(choice):
            _add_deletion_costs(gaps, weight, choice, lam_local, costs[-1], successor)
    if cost is not None:
        cost[:] = join([(0, group) for group in range(len(costs))], costs)


def visit(rows, member, begin, centres, lam_local, lam_global, n_threads, used, label, sq_dist):
    """Step 4 of Algorithm 2 (Kulis & Jordan 2012), group after group and row after row.

    A row joins what is nearest, sites that its group does not use yet being lam_local farther off, or, beyond
    lam_local + lam_global, opens a site at its own place. out label, sq_dist (n,). Returns the rows that opened a site,
    numbered from k on.
    """
    founders = []
    for group, index in enumerate(_members(member, begin)):
        own = np.append(used[group], np.zeros(len(founders), dtype=bool))
        for row in index:
            z, w = rows.z([row]), rows.weight[row]
            gaps = sq_dists(z, centres)[0]
            without_weight = np.where(own | ~own.any(), gaps, np.inf)
            costs = w * gaps + np.where(own, 0.0, lam_local) if w > 0 else without_weight
            site = int(costs.argmin())
            if w > 0 and costs[site] > lam_local + lam_global:
                founders.append(row)
                centres, own, gaps = np.vstack([centres, z]), np.append(own, False), np.append(gaps, 0.0)
                site = len(centres) - 1
            own[site] |= w > 0
            label[row], sq_dist[row] = site, gaps[site]
    return np.array(founders, dtype=np.int64)


def seconds(rows, member, begin, centres, n_threads, used, label, second, sq_dist):
    """out second, sq_dist (n,): the nearest site that the group uses besides the row's own, −1 if it uses no other."""
    for group, index in enumerate(_members(member, begin)):
        gaps = np.where(used[group], sq_dists(rows.z(index), centres), np.inf)
        gaps[np.arange(len(index)), label[index]] = np.inf
        sq_dist[index] = gaps.min(axis=1)
        second[index] = np.where(np.isfinite(sq_dist[index]), gaps.argmin(axis=1), -1)


def _members(member, begin):
    return [member[start:stop] for start, stop in pairwise(begin)]


def _choice(gaps, weight, used, penalty):
    """The sites, ascending, that local search from ``used`` ends with."""
    used = used.tolist() or [int(np.add.accumulate(weight[:, None] * gaps)[-1].argmin())]
    tables = _tables(gaps, weight, used)
    while (change := _best_change(*tables, used, penalty)) is not None:
        out, into = change
        new = sorted({*used, *into} - {*out})
        after = _tables(gaps, weight, new)
        if not after[-1] + penalty * len(new) < tables[-1] + penalty * len(used):  # at the limit of rounding
            break
        used, tables = new, after
    return used


def _tables(gaps, weight, used):
    """What changes of the choice do to the cost of the rows, and that cost as it is.

    gain[q] is saved by using q too, on the rows for which q is nearer than their own site; drop[u] is lost by using u
    no longer, as its rows go to their second sites; loss[u, q] − gain[q] is lost by using q instead of u: rows of u
    that are not nearer to q go to q or to their second sites, whichever is nearer.
    """
    ranked = np.sort(gaps[:, used], axis=1)
    best, second = ranked[:, 0], ranked[:, 1] if len(used) > 1 else np.full(len(gaps), np.inf)
    place = gaps[:, used].argmin(axis=1)
    counts = weight > 0
    gain = _total(weight[:, None] * np.maximum(best[:, None] - gaps, 0.0))
    lost = weight[:, None] * np.maximum(np.minimum(second[:, None], gaps) - best[:, None], 0.0)
    loss = np.array([_total(lost[counts & (place == u)]) for u in range(len(used))])
    away = np.where(counts, second - best, 0.0) * np.where(counts, weight, 1.0)
    drop = np.array([_total(away[place == u, None])[0] for u in range(len(used))])
    return gain, drop, loss, _total((weight * best)[:, None])[0]


def _total(terms):
    """Sums over rows, in order."""
    return np.add.accumulate(terms)[-1] if len(terms) else np.zeros(terms.shape[1])


def _best_change(gain, drop, loss, cost, used, penalty):
    """The best of all single changes, as sites to remove and sites to add; None if no change lowers the cost."""
    others = [q for q in range(len(gain)) if q not in used]
    changes = [(gain[q] - penalty, [], [q]) for q in others]
    changes += [(penalty - drop[u], [p], []) for u, p in enumerate(used) if len(used) > 1]
    changes += [(gain[q] - loss[u, q], [p], [q]) for u, p in enumerate(used) for q in others]
    best, least = None, LEAST_GAIN * (cost + penalty * len(used))
    for value, out, into in changes:
        if value > least:
            best, least = (out, into), value
    return best


def _add_deletion_costs(gaps, weight, used, penalty, cost, successor):
    """Add what deleting each used site would cost: its rows go to their seconds, or another site is opened."""
    gain, drop, loss, _ = _tables(gaps, weight, used)
    others = np.setdiff1d(np.arange(len(gain)), used)
    for u, p in enumerate(used):
        least = drop[u] - penalty if len(used) > 1 else np.inf
        instead = others[np.argmin(loss[u, others] - gain[others])] if len(others) else None
        if instead is not None and loss[u, instead] - gain[instead] < least:
            least = loss[u, instead] - gain[instead]
            successor[p, instead] = True
        cost[p] += least
    if len(used) > 1:
        order = np.argsort(gaps[:, used], axis=1, kind="stable")
        successor[np.array(used)[order[:, 0]], np.array(used)[order[:, 1]]] = True
