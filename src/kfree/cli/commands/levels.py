"""Cluster the rows of a table, and the clusters: groups of clusters, level by level, whose number is found."""

from kfree.cli import options as shared

HELP = "cluster the rows of a table at several levels"


def add_options(parser):
    shared.add_input(parser)
    parser.add_argument(
        "--levels", type=levels, metavar="M,K", help="numbers of nodes by level, coarsest first, where they are known"
    )
    parser.add_argument("--metric", choices=["euclidean", "cosine"], default="euclidean")
    parser.add_argument(
        "--group-weight", choices=["clusters", "rows"], default="clusters", help="what counts for a group (%(default)s)"
    )
    shared.add_computing(parser)
    shared.add_columns(parser)
    shared.add_output(parser, "the input with a column for each level")
    shared.add_report(parser)
    parser.add_argument("--tree", metavar="TREE.nwk", help="write the tree in Newick's format")
    parser.add_argument("--save", metavar="MODEL.kfree", help="write the model, for kfree predict")


def levels(text):
    """Whole numbers, separated by commas."""
    return tuple(shared.whole(part.strip()) for part in text.split(","))


def run(options, console):
    from kfree import NestedDPMeans
    from kfree.cli.work import TableCommand

    work = TableCommand(options, console)
    model = NestedDPMeans(
        options.levels,
        metric=options.metric,
        group_weight=options.group_weight,
        n_threads=options.threads,
        random_state=options.seed,
    ).fit(work.X)
    coarser = {f"group_{level}": own for level, own in enumerate(model.level_labels_[:-1])}
    work.write(**coarser, cluster=model.labels_)
    work.attempt("tree", options.tree, _write_tree, model.tree_)
    work.finish(model)
    facts = {"input": work.table.title, "output": work.output, "levels": list(model.levels_)}
    facts |= {"evidence": list(model.evidence_), "tree": model.tree_.to_newick()}
    work.end([_found(model, options.levels), "", str(model.tree_), ""], facts)


def _write_tree(path, tree):
    from kfree.cli.output import written

    with written(path) as file:
        file.write(tree.to_newick().encode() + b"\n")


def _found(model, given):
    """The numbers of nodes by level, and how sure they are."""
    numbers = " ⊃ ".join(map(str, model.levels_))
    if given is not None:
        return f"nodes by level: {numbers} (as asked for)"
    evidence = ", ".join(f"{value:.1f}" for value in model.evidence_)
    told = f"; evidence for groups, level by level: {evidence} (3 needed)" if evidence else ""
    one = "one level, no groups of clusters" if len(model.levels_) == 1 else f"{len(model.levels_)} levels"
    return f"{one}: {numbers} cluster(s){told}" if len(model.levels_) == 1 else f"{one}: {numbers}{told}"
