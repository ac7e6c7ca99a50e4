"""docs/reproduction.md: every number that was kept, the paper's beside ours."""

import os

from reproduce.experiments import EXPERIMENTS
from reproduce.result import kept
from reproduce.table import NOT_RUN

PAPERS = {
    "kulis-jordan": "Kulis & Jordan (2012), Revisiting k-means",
    "kurihara-welling": "Kurihara & Welling (2009), Bayesian k-means",
    "odashima": "Odashima, Ueki & Sawasaki (2016), Split-merge DP-means",
}
HEAD = """# Reproduction

Every table and every measured figure of the three papers, with the paper's numbers beside kfree's. This page is written
by

```sh
python -m reproduce all --quick   # reduced sizes; --full for the published ones
python -m reproduce report        # this page alone, from the results that were kept
```

"full" means the sizes of the paper, "quick" smaller ones or fewer repetitions: then a difference may be one of size.
"part" is a full run that was limited in time: lines with fewer repetitions than the paper's say so, and those without
any say "not run". "WORSE" means worse
than the paper's number at its digits, "worse, within ±" that the intervals meet. Seconds of a paper were measured on
another machine. That both samplers draw from their posteriors, and how many sweeps they make in a second beside NumPy,
is shown in [Baselines](baselines.md). The data come from `kfree.datasets`:

```python
from kfree import DPMeans
from kfree.datasets import make_three_gaussians

X, y = make_three_gaussians(random_state=0)
model = DPMeans("farthest-first", target_k=3, search="sweep").fit(X)
model.n_clusters_, model.n_iter_
```

Not reproduced, because the data are not available: Table 4 of Odashima et al. (GIST features of SUN397).
"""
COLUMNS = ["case", "method", "quantity", "paper", "ours", "difference", "verdict", "seconds", "note"]


def write_report(folder, path):
    """Write the page from the results in ``folder``; returns its path."""
    parts = [HEAD]
    for paper, title in PAPERS.items():
        parts.append(f"## {title}\n")
        parts.extend(_section(name, folder, path) for name in EXPERIMENTS if name.startswith(f"{paper}/"))
    path.write_text("\n".join(parts), encoding="utf-8")
    return path


def _section(name, folder, path):
    experiment, found = EXPERIMENTS[name], kept(folder, name)
    lines = [f"### {name}: {experiment.about}\n"]
    if found is None:
        return "\n".join([*lines, f"Not run yet: `python -m reproduce {name}`.\n"])
    rows, size, picture = found
    lines.append(f"Size: {size}. {_how_many_worse(rows)}".rstrip() + "\n")
    if rows:
        lines.append(_table([_cells(row) for row in rows], rows[0]["against"]))
    if picture is not None:
        lines.append(f"![{experiment.about}]({os.path.relpath(picture, path.parent)})\n")
    if experiment.explanation:
        lines.append(f"{experiment.explanation}\n")
    return "\n".join(lines)


def _how_many_worse(rows):
    """Of the lines that have a number to compare with and a better direction."""
    compared = sum(all(row[key] != "" for key in ("paper", "ours", "goal")) for row in rows)
    worse = sum(row["verdict"] != "" for row in rows)
    return f"Worse than the {rows[0]['against']} in {worse} of {compared} lines that can be." if compared else ""


def _table(rows, against):
    heads = [head for head in COLUMNS if any(row[head] for row in rows)]
    body = [
        [against if head == "paper" else head for head in heads],
        ["---"] * len(heads),
        *([row[head] for head in heads] for row in rows),
    ]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in body) + "\n"


def _cells(row):
    seconds = " / ".join(f"{float(row[key]):.3g}" for key in ("paper_seconds", "seconds") if row[key])
    return row | {
        "paper": _number(row["paper"], row["paper_spread"]),
        "ours": _number(row["ours"], row["spread"]) or NOT_RUN,
        "difference": f"{float(row['difference']):+.1%}" if row["difference"] else "",
        "seconds": seconds,
    }


def _number(value, spread):
    if not value:
        return ""
    return f"{float(value):.5g}" + (f" ± {float(spread):.2g}" if spread and float(spread) > 1e-9 else "")
