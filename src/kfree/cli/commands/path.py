"""Show how many clusters are best for every penalty of a cluster, and which number the data support best."""

import math

from kfree.cli import options as shared

HELP = "show the number of clusters for every penalty"

# What is written about each step.
_COLUMNS = ("k", "lam", "lam_low", "lam_high", "cost", "score", "evidence", "density_dips", "weakest")


def add_options(parser):
    shared.add_input(parser)
    parser.add_argument("--max-k", type=shared.whole, metavar="K", help="the largest number of clusters to consider")
    parser.add_argument("--metric", choices=["euclidean", "cosine"], default="euclidean")
    shared.add_computing(parser)
    shared.add_columns(parser)
    shared.add_output(parser, "the steps as a table", by_default="not written")
    parser.add_argument("--plot", metavar="PICTURE.png", help="draw the staircase")
    shared.add_report(parser)


def run(options, console):
    from kfree import DPMeans, lambda_path
    from kfree.cli.work import TableCommand
    from kfree.explain.certainty import in_words_of_path

    work = TableCommand(options, console, by_default=False)
    shared = {"metric": options.metric, "n_threads": options.threads}
    path = lambda_path(work.X, max_k=options.max_k, random_state=options.seed or 0, **shared)
    steps, best = {name: getattr(path, name) for name in _COLUMNS}, path.suggest()
    certainty = in_words_of_path(path, best.k).replace("give k.", "use kfree cluster --k.")
    work.write_columns("steps", steps)
    model = DPMeans(lam=best.lam, random_state=options.seed, **shared).fit(work.X) if options.report else None
    work.finish(model, "staircase", path)
    facts = {"input": work.table.title, "suggested": vars(best), "certainty": certainty}
    facts |= {"steps": {name: list(values) for name, values in steps.items()}}
    work.end(["", *_table(path, best), certainty], facts)


def _table(path, best, most=12):
    """The widest steps, in the order of k, the suggested one marked."""
    wide = sorted([j for j in range(len(path)) if path.width[j] > 0], key=lambda j: -path.score[j])[:most]
    shown = sorted({*wide, int(best.k - path.k[0])})
    lines = [f"{'k':>6}  {'lam from':>12}  {'to':>12}  {'score':>8}  {'evidence':>8}  {'gaps':>5}  {'weakest':>7}"]
    for j in shown:
        mark = "  suggested" if path.k[j] == best.k else ""
        steps = f"{path.k[j]:6d}  {path.lam_low[j]:12.5g}  {path.lam_high[j]:12.5g}  {path.score[j]:8.3g}"
        steps = steps.replace("inf", "  ∞")
        tested = f"{_known(path.evidence[j]):>8}  {_share(path.density_dips[j]):>5}  {_known(path.weakest[j]):>7}"
        lines.append(f"{steps}  {tested}{mark}")
    meaning = "evidence, weakest: standard deviations from no gap; gaps: share of neighbours with a gap between them"
    suggestion = f"suggested: {best.k} cluster(s), lam = {best.lam:.6g}"
    return [*lines, "", meaning, suggestion]


def _known(value):
    """A number, or a dash where a step was not tested or a cluster has too few rows for it."""
    return f"{value:.1f}" if math.isfinite(value) else "–"


def _share(value):
    return f"{value:.0%}" if value == value else "–"
