"""Cluster rows in one pass, without keeping any; each row gets the number of the cluster it joins."""

from kfree.cli import options as shared

HELP = "cluster rows as they come"


def add_options(parser):
    shared.add_input(parser, "the rows: CSV or TSV, or - for standard input")
    parser.add_argument("--lam", type=shared.positive, help="the penalty of a cluster (found from the first chunk)")
    parser.add_argument("--max-clusters", type=shared.whole, metavar="N", help="the penalty doubles beyond N")
    parser.add_argument("--half-life", type=shared.positive, metavar="ROWS", help="rows after which a row weighs half")
    parser.add_argument("--columns", type=shared.names, metavar="A,B", help="use only these columns (default: numbers)")
    parser.add_argument("--drop", type=shared.names, default=[], metavar="A,B", help="leave these columns out")
    parser.add_argument("--chunk", type=shared.whole, default=10_000, metavar="ROWS", help="rows per chunk")
    shared.add_output(parser, "a table of rows and clusters")
    parser.add_argument("--save", metavar="MODEL.kfree", help="write the model, for kfree predict")


def run(options, console):
    from kfree import OnlineDPMeans
    from kfree.cli.errors import CommandError, UsageError
    from kfree.cli.output import save_model, written
    from kfree.cli.streams import opened_stream
    from kfree.cli.work import Outputs

    if options.output is None:
        options.format = options.format or "csv"
    outputs = Outputs(options, console)
    output, format_ = outputs.output, outputs.format
    if format_ not in ("csv", "jsonl"):
        raise UsageError("a stream is written as csv or jsonl")
    lam = "auto" if options.lam is None else options.lam
    model = OnlineDPMeans(lam=lam, max_clusters=options.max_clusters, half_life=options.half_life)
    row = 0
    with opened_stream(options, console) as reader, written(output) as file:
        file.write(b"row,cluster\n" if format_ == "csv" else b"")
        for chunk in reader.chunks(options.chunk):
            try:
                joined = model.partial_fit(chunk).joined_ids_.tolist()
            except ValueError as error:  # of what the rows are, not of how they were read
                raise CommandError(str(error)) from error
            line = "{},{}\n" if format_ == "csv" else '{{"row": {}, "cluster": {}}}\n'
            file.write("".join(line.format(row + i, name) for i, name in enumerate(joined, start=1)).encode())
            file.flush()
            row += len(joined)
        model.preparation_ = reader.preparation
    outputs.attempt("model", options.save, lambda path: save_model(model, path))
    facts = {"n_rows": row, "n_clusters": model.n_clusters_, "lam": model.lam_, "output": output}
    facts |= {"clusters": [{"id": i, "weight": w} for i, w in zip(model.cluster_ids_, model.weights_, strict=True)]}
    events = f", {model.n_events_} event(s)" if model.n_events_ else ""  # a short stream is not reviewed for events
    lines = [f"{row:,} row(s), {model.n_clusters_} cluster(s), lam = {model.lam_:.6g}{events}"]
    outputs.end(lines + [f"labels: {output}"] * (output != "-"), facts)
