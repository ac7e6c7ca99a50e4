"""docs/reproduction.md: every number that was kept, the paper's beside ours."""

import os
import re

from reproduce.cells import EARLIER, provenance_of
from reproduce.code import UNKNOWN, code_of
from reproduce.experiments import EXPERIMENTS
from reproduce.result import kept
from reproduce.table import NOT_RUN, WORSE

PAPERS = {
    "kulis-jordan": "Kulis & Jordan (2012), Revisiting k-means",
    "kurihara-welling": "Kurihara & Welling (2009), Bayesian k-means",
    "odashima": "Odashima, Ueki & Sawasaki (2016), Split-merge DP-means",
}
HEAD = """# Reproduction

The tables and measured figures of three papers, with the paper's numbers beside kfree's. This page is written by

```sh
python -m reproduce all --quick   # reduced sizes; --full for the published ones
python -m reproduce data          # which public data are needed, their sizes and checksums
python -m reproduce report        # this page alone, from the results that were kept
```

*Sizes.* "full" means the sizes of the paper, "quick" smaller ones or fewer repetitions: then a difference may be
one of size. "part" is a full run that was limited in time: lines with fewer repetitions than the paper's say so,
and those without any say "not run". *Verdicts.* "WORSE" means worse than the paper's number at its digits; "worse,
within chance" that Welch's t-test finds no difference at the level 0.05 (a number that is printed without ± is
taken as exact); "worse, not tested" that there is one repetition only. What ± means is said under each table.
*Code.* A kept number carries a hash of the code that made it (`reproduce/code.py`): kfree's modules, the C++ sources,
and the experiment. Numbers from before there were hashes carry the commit alone. The line under a table says when, at
which commit and on which machine it was made, and whether that code had changed when this page was written. Long
tables are put together from cells, which are kept one by one; "by earlier code" in a note means that cells are of
another version of the code than the table. Most changes of kfree change a hash and no number: so all versions of a cell
are kept, and the line under the table says how many agree. *Seconds* of a paper were measured on another machine.

That both samplers draw from their posteriors is shown in [Baselines](baselines.md), what the papers print wrong in
[Errata](theory/errata.md), and where each equation is computed in [the map](theory/map.md). The data come from
`kfree.datasets`:

```python
from kfree import DPMeans
from kfree.datasets import make_three_gaussians

X, y = make_three_gaussians(random_state=0)
model = DPMeans(lam="farthest-first", target_k=3, search="sweep").fit(X)
model.n_clusters_, model.n_iter_
```

Not reproduced:

- Table 4 of Odashima et al.: GIST features of SUN397 are not available.
- Photo Tourism (Kulis & Jordan, §6.2): the patches are not available; seconds are of made-up rows of that size.
- CEDAR (Kurihara & Welling, Table 2): not public; digits of USPS, averaged to 8 × 8 pixels, stand for it.
- Multinomial ME + kd-trees (Kurihara & Welling, Fig. 5): kfree has no kd-tree for counts
  ([why](theory/free-energy.md#a-kd-tree-for-counts)).
- Figures that show no measurement: Fig. 1 of all three papers, Fig. 2 of Kurihara & Welling and of Odashima et al.
"""
SPREADS = {
    "interval": "half the width of the 95 % confidence interval of a mean",
    "deviation": "a standard deviation between data sets, subsets or samples",
    UNKNOWN: "of a kind that was not kept with these numbers",
}
COLUMNS = ["case", "method", "quantity", "paper", "ours", "difference", "verdict", "seconds", "note"]


def write_report(folder, path):
    """Write the page from the results in ``folder``; returns its path."""
    path.write_text(page(folder, path.parent), encoding="utf-8")
    return path


def page(folder, place):
    """The page as text, with links to pictures from the folder ``place``."""
    parts = [HEAD]
    for paper, title in PAPERS.items():
        parts.append(f"## {title}\n")
        parts.extend(_section(name, folder, place) for name in EXPERIMENTS if name.startswith(f"{paper}/"))
    return "\n".join(parts)


def _section(name, folder, place):
    experiment, found = EXPERIMENTS[name], kept(folder, name)
    lines = [f"### {name}: {experiment.about}\n"]
    if found is None:
        return "\n".join([*lines, f"Not run yet: `python -m reproduce {name}`.\n"])
    rows = found.rows
    said = [f"Size: {found.size}{experiment.stand_in}.", _how_many_missing(rows), _how_many_worse(rows)]
    lines.append(" ".join(filter(None, said)) + "\n")
    if rows:
        lines.append(_table([_cells(row) for row in rows], rows[0]["against"]))
    lines.append(f"{_spread(rows)}{_made(found, experiment)}\n")
    if found.picture is not None:
        lines.append(f"![{experiment.about}]({os.path.relpath(found.picture, place)})\n")
    if experiment.explanation:
        lines.append(f"{experiment.explanation}\n")
    return "\n".join(lines)


def _spread(rows):
    """What ± means in a table."""
    kinds = {row.get("spread_is", UNKNOWN) for row in rows if _is_shown(row["spread"])}
    return "".join(f"± is {SPREADS[kind]}. " for kind in sorted(kinds))


def _made(found, experiment):
    """When and where a table was made, and by which code; one of cells was only put together then."""
    made = found.made
    if made["code"] == UNKNOWN:
        code = "before numbers carried a hash of their code"
    elif made["code"] == code_of(experiment.run):
        code = f"by code {made['code']}, which had not changed when this page was written"
    else:
        code = f"by code {made['code']}, which has changed since"
    if not experiment.cells:
        return f"Made {', '.join([*_when(made), _where(made), code])}."
    cells = provenance_of(experiment.cells)
    source = f"cells of {experiment.cells}.csv, which keeps {len(cells):,}, made {_cells_made(cells)}"
    return f"Put together {', '.join([*_when(made), code])}, from {source}.{_made_again(made)}"


def _made_again(made):
    """Whether another version of the code made the same numbers."""
    if not made.get("made_again"):
        return ""
    same = "all" if made["same"] == made["made_again"] else f"{made['same']:,}"
    said = f"{made['made_again']:,} cells of this table were made by more than one version of the code,"
    return f" {said} {same} with the same numbers to nine digits."


def _when(made):
    return [f"on {made['date']}", f"at commit {made['commit']}"] if "date" in made else []


def _where(made):
    known = made.get("machine", UNKNOWN) != UNKNOWN
    return f"on {made['machine']}" if known else "on a machine that was not noted"


def _cells_made(cells):
    """When, where and by how many versions of the code kept cells were made."""
    dates = sorted({cell["date"] for cell in cells})
    commits = list(dict.fromkeys(cell["commit"] for cell in sorted(cells, key=lambda cell: cell["date"])))
    when = f"on {dates[0]}" if len(dates) == 1 else f"from {dates[0]} to {dates[-1]}"
    at = f"at commit {commits[0]}" if len(commits) == 1 else f"at commits {', '.join(commits)}"
    where = ", or ".join(sorted({_where(cell) for cell in cells}))
    unhashed = sum(cell["code"] == UNKNOWN for cell in cells)
    without = f"; {unhashed:,} of them carry no hash of their code" if unhashed else ""
    return f"{when}, {at}, {where}{without}"


def _how_many_missing(rows):
    """Lines without a number, and lines with numbers of other code or with part of their repetitions."""
    missing = sum(row["ours"] == "" for row in rows)
    notes = [row["note"] for row in rows if row["ours"] != ""]
    few = sum(bool(re.search(r"\b\d+ of \d+ (data sets|splits|orders|fits)\b", note)) for note in notes)
    stale = sum(EARLIER in note for note in notes)
    counted = {
        "have no number yet": missing,
        "have only part of their repetitions": few,
        f"have cells of {EARLIER}": stale,
    }
    said = [f"{number} {what}" for what, number in counted.items() if number]
    return f"{len(rows)} lines, of which {', '.join(said)}." if said else ""


def _how_many_worse(rows):
    """Of the lines that have a number to compare with and a better direction."""
    compared = sum(all(row[key] != "" for key in ("paper", "ours", "goal")) for row in rows)
    worse = sum(row["verdict"] != "" for row in rows)
    certain = sum(row["verdict"] == WORSE for row in rows)
    if not compared:
        return ""
    said = f"Worse than the {rows[0]['against']} in {worse} of {compared} lines that can be compared"
    return f"{said}, by more than chance in {certain}." if worse else f"{said}."


def _table(rows, against):
    heads = [head for head in COLUMNS if any(row[head] for row in rows)]
    body = [
        [against if head == "paper" else head for head in heads],
        ["---"] * len(heads),
        *([row[head].replace("|", "\\|") for head in heads] for row in rows),
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
    return f"{float(value):.5g}" + (f" ± {float(spread):.2g}" if _is_shown(spread) else "")


def _is_shown(spread):
    """Whether a number is printed with ±."""
    return spread != "" and float(spread) > 1e-9
