"""Grow a tree of the rows of a table, and cut it where the evidence is highest."""

from kfree.cli import options as shared

HELP = "grow a tree of clusters"
# Growing a tree takes all pairs of rows.
_MOST_ROWS = 20_000


def add_options(parser):
    shared.add_input(parser)
    parser.add_argument("--k", type=shared.whole, help="cut into this many clusters (default: by the evidence)")
    parser.add_argument("--model", choices=["gaussian", "multinomial", "bernoulli"], default="gaussian")
    parser.add_argument(
        "--names", type=shared.name, metavar="COLUMN", help="a column with names of the rows, for the picture"
    )
    shared.add_computing(parser)
    shared.add_columns(parser)
    shared.add_output(parser)
    shared.add_scores(parser)
    parser.add_argument("--plot", metavar="PICTURE.png", help="draw the tree")
    shared.add_report(parser)
    parser.add_argument("--save", metavar="MODEL.kfree", help="write the tree, for kfree predict")


def run(options, console):
    from kfree import AgglomerativeBayes
    from kfree.cli.errors import CommandError, UsageError
    from kfree.cli.work import TableCommand

    if options.scores and options.k is not None:
        raise UsageError(
            "--scores are those of the clusters that the evidence suggests, and --k cuts the tree elsewhere; leave --k "
            f"out, or use kfree cluster --k {options.k} --scores"
        )
    if options.model != "gaussian" and options.prepare is None:
        options.prepare = "none"  # these models take counts, or zeros and ones
    work = TableCommand(options, console)
    if len(work.X) > _MOST_ROWS:
        raise CommandError(
            f"{options.input} has {len(work.X)} rows; a tree compares all pairs of rows and is computed for up to "
            f"{_MOST_ROWS}. Use kfree cluster, or a sample of the rows."
        )
    model = AgglomerativeBayes(options.model, n_threads=options.threads, random_state=options.seed).fit(work.X)
    labels = model.labels_ if options.k is None else model.cut(options.k)
    work.write(cluster=labels, **work.scores(model))
    sizes = [int((labels == label).sum()) for label in range(int(labels.max()) + 1)]
    names = [str(name) for name in work.rows.names_by(options.names, first=1)]
    work.finish(model, "dendrogram", model.linkage_, len(sizes), names=names, labels=labels)
    lines = [f"{len(sizes)} cluster(s), free energy {model.free_energy_path_[-len(sizes)]:.6g} nats", ""]
    lines += [f"{'cluster':>8}  {'rows':>8}", *(f"{label:8d}  {size:8d}" for label, size in enumerate(sizes)), ""]
    facts = {"input": work.table.title, "output": work.output, "n_clusters": len(sizes), "sizes": sizes}
    work.end(lines, facts | {"suggested": model.n_clusters_, "free_energy": model.free_energy_path_.tolist()})
