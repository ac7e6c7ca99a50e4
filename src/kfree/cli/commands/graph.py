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
    from kfree.cli.output import output_of, reported, save_model, write_columns
    from kfree.cli.tables import files_of, input_table, require_apart
    from kfree.explain import summarize

    output, format_ = output_of(options.input, options.output, options.format)
    console.output_is_data = output == "-"
    outputs = {"--output": output, "--save": options.save, "--report": options.report, "--plot": options.plot}
    require_apart(files_of(options.input), outputs)
    table = input_table(options)
    title, edges = table.title, links(table, options.columns)
    model = GraphDPMeans(lam="auto" if options.lam is None else options.lam, cut=options.cut, random_state=options.seed)
    model.fit(edges)
    write_columns({"node": model.node_names_, "cluster": model.labels_}, output, format_, options.safe_cells)
    if options.save:
        save_model(model, options.save)
    if options.plot:
        from kfree.cli.pictures import draw_graph

        draw_graph(model, options.plot)
    if options.report:
        from kfree.report import write_report

        with reported(options.report):
            write_report(options.report, model, title=title)
    heading = f"{title}: {len(model.labels_)} node(s), {len(edges)} link(s)"
    lines = [heading, f"penalty of a cluster: lam = {model.lam_:.6g}", "", str(summarize(model)), ""]
    written = {"nodes": output if output != "-" else None, "report": options.report, "picture": options.plot}
    written |= {"model": options.save}
    lines += [f"{what}: {path}" for what, path in written.items() if path]
    facts = {"input": title, "output": output, "n_nodes": len(model.labels_), "n_links": len(edges)}
    facts |= {"n_clusters": model.n_clusters_, "lam": model.lam_, "cost": model.cost_, "shares": model.shares_}
    console.report("\n".join(lines), facts)


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
