"""Cluster rows that come in groups; groups share clusters, and each uses a few of them."""

from kfree.cli import options as shared

HELP = "cluster rows in groups that share clusters"


def add_options(parser):
    shared.add_input(parser)
    parser.add_argument(
        "--group", type=shared.name, required=True, metavar="COLUMN", help="the column that names each row's group"
    )
    parser.add_argument("--lam-local", type=shared.positive, help="the penalty of a cluster in a group (found)")
    parser.add_argument("--lam-global", type=shared.positive, help="the penalty of a cluster for all groups (found)")
    shared.add_computing(parser)
    shared.add_columns(parser)
    shared.add_output(parser, "the input with columns 'cluster' and 'local_cluster'")
    shared.add_scores(parser)
    shared.add_report(parser)
    parser.add_argument("--save", metavar="MODEL.kfree", help="write the model, for kfree predict")


def run(options, console):
    from kfree import HardHDP
    from kfree.cli.work import TableCommand

    work = TableCommand(options, console, group=options.group)
    model = HardHDP(
        lam_local="auto" if options.lam_local is None else options.lam_local,
        lam_global="auto" if options.lam_global is None else options.lam_global,
        n_threads=options.threads,
        random_state=options.seed,
    ).fit(work.X, groups=work.rows.groups(options.group))
    work.write(cluster=model.labels_, local_cluster=model.local_labels_, **work.scores(model))
    work.finish(model)
    summary = work.summary(model)
    used = dict(zip(map(str, model.groups_.tolist()), model.n_local_clusters_.tolist(), strict=True))
    lines = [
        f"{len(used)} group(s); penalties: lam_local = {model.lam_local_:.6g}, lam_global = {model.lam_global_:.6g}",
        "",
        str(summary),
        "",
        *_table(used),
        "",
    ]
    facts = {"lam_local": model.lam_local_, "lam_global": model.lam_global_, "clusters_of_groups": used}
    work.end(lines, work.facts(model, summary) | facts)


def _table(used, most=20):
    """How many clusters each group uses."""
    width = max(map(len, used))
    lines = [f"{'group':<{width}}  clusters"]
    lines += [f"{name:<{width}}  {count:8d}" for name, count in list(used.items())[:most]]
    return lines + [f"and {len(used) - most} more groups"] * (len(used) > most)
