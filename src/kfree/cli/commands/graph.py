"""Cluster the nodes of a graph, given as a table of links: two columns of nodes and, if wanted, one of weights."""

from kfree.cli import options as shared

HELP = "cluster the nodes of a graph"


def add_options(parser):
    shared.add_input(parser, "the links: CSV, TSV, Parquet, Arrow, or - for standard input")
    parser.add_argument("--columns", type=shared.names, metavar="FROM,TO[,WEIGHT]", help="default: the first columns")
    parser.add_argument("--lam", type=float, help="the penalty of a cluster, between -1 and 0 (found)")
    parser.add_argument("--cut", choices=["normalized", "ratio"], default="normalized")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    shared.add_output(parser, "a table of nodes and clusters")
    parser.add_argument("--plot", metavar="PICTURE.png", help="draw the graph")
    shared.add_report(parser)
    parser.add_argument("--save", metavar="MODEL.kfree", help="write the model, for kfree.load")


def run(options, console):
    from kfree import GraphDPMeans
    from kfree.cli.advice import in_options
    from kfree.cli.output import save_model
    from kfree.cli.pictures import draw, require_few_nodes
    from kfree.cli.tables import input_table
    from kfree.cli.work import Outputs
    from kfree.explain import summarize

    outputs = Outputs(options, console)
    console.begins("reading")
    table = input_table(options)
    edges = links(table, options.columns)
    if options.plot:
        require_few_nodes(len({node for link in edges for node in link[:2]}))
    console.begins("clustering")
    model = GraphDPMeans(lam="auto" if options.lam is None else options.lam, cut=options.cut, random_state=options.seed)
    model.fit(edges)
    outputs.write_columns("nodes", {"node": model.node_names_, "cluster": model.labels_})
    outputs.attempt("model", options.save, lambda path: save_model(model, path))
    outputs.attempt("page", options.report, _report, model, table.title)
    outputs.attempt("picture", options.plot, draw, "graph", model)
    heading = f"{table.title}: {len(model.labels_)} node(s), {len(edges)} link(s)"
    certainty = in_options(model.certainty())
    lines = [heading, certainty, f"penalty of a cluster: lam = {model.lam_:.6g}", "", str(summarize(model)), ""]
    facts = {"input": table.title, "output": outputs.output, "n_nodes": len(model.labels_), "n_links": len(edges)}
    facts |= {"n_clusters": model.n_clusters_, "lam": model.lam_, "cost": model.cost_, "shares": model.shares_}
    facts |= {"certainty": certainty}
    outputs.end(lines, facts)


def _report(path, model, title):
    from kfree.cli.output import reported
    from kfree.report import write_report

    with reported(path):
        write_report(path, model, title=title)


def links(table, columns):
    """A list of links: pairs of nodes, with a weight where there is a third column."""
    from kfree.cli.errors import CommandError
    from kfree.clustering.tables import require_columns

    names = columns or table.names[:3]
    require_columns(table, names, "--columns")
    if len(names) < 2:
        raise CommandError(f"{table.title} has one column; a table of links has two columns of nodes.")
    if len(names) > 3 or (len(table.names) > 3 and not columns):
        raise CommandError(
            f"{table.title} has {len(table.names)} columns; name those of nodes and weights with --columns FROM,TO or "
            "--columns FROM,TO,WEIGHT."
        )
    if len(names) == 3 and table.type(names[2]).numpy is None:
        raise CommandError(f"{table.title}: column {names[2]!r} holds text, where weights are numbers.")
    # 007 and 7 are two nodes.
    ends = [column.to_pylist() for column in table.as_written(names[:2]).read(names).columns]
    for name, nodes in zip(names, ends, strict=True):
        row = next((row for row, node in enumerate(nodes, start=1) if node is None or node != node), None)
        if row is not None:
            raise CommandError(f"{table.title}, row {row}, column {name!r}: no value; correct or remove the row.")
    is_square = len(ends[0]) == len(ends)  # numbers like that would be a matrix
    if is_square or not all(isinstance(node, int) for nodes in ends[:2] for node in nodes):
        ends[:2] = [[str(node) for node in nodes] for nodes in ends[:2]]
    return list(zip(*ends, strict=True))
