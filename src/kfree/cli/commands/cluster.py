"""Cluster the rows of a table; the number of clusters is found unless --lam or --k is given."""

from kfree.cli import options as shared

HELP = "cluster the rows of a table"


def add_options(parser):
    shared.add_input(parser)
    parser.add_argument("--lam", type=shared.positive, help="the penalty of a cluster, in squared distance")
    parser.add_argument("--k", type=shared.whole, help="the number of clusters, where it is known")
    parser.add_argument("--metric", choices=["euclidean", "cosine"], default="euclidean")
    degrees = "columns of latitude and longitude in degrees; --lam is in km²"
    parser.add_argument("--geo", type=shared.names, metavar="LAT,LON", help=degrees)
    parser.add_argument("--memory", type=shared.memory, metavar="SIZE", help="such as 500MB; more rows are streamed")
    parser.add_argument("--weight", metavar="COLUMN", help="the column that says how many times a row counts")
    shared.add_computing(parser)
    shared.add_columns(parser)
    shared.add_output(parser)
    shared.add_scores(parser)
    shared.add_report(parser)
    parser.add_argument("--plot", metavar="PICTURE.png", help="draw the clusters")
    parser.add_argument("--save", metavar="MODEL.kfree", help="write the model, for kfree predict")


def run(options, console):
    from kfree.cli.errors import UsageError
    from kfree.cli.work import Work

    if options.lam is not None and options.k is not None:
        raise UsageError("--lam and --k both set the number of clusters; give one of them")
    if options.geo is not None:
        _use_places(options)
    work = Work(options, console)
    model = fitted(options, work)
    labels = work.labels(model)
    work.write(cluster=labels, **work.scores(model))
    summary = work.summary(model, labels)
    work.finish(
        model=lambda: work.save(model), page=lambda: work.report(model), picture=lambda: _draw(options, work, model)
    )
    penalty = "given" if options.lam else "found for the number asked for" if options.k else "found from the data"
    lines = [work.headline(), f"penalty of a cluster: lam = {model.lam_:.6g} ({penalty})", "", str(summary), ""]
    console.report("\n".join([*lines, work.places()]), work.facts(model, summary))
    work.end()


def _use_places(options):
    """Two columns of degrees are all that is clustered."""
    from kfree.cli.errors import UsageError

    if len(options.geo) != 2:
        raise UsageError(f"--geo takes two columns, latitude and longitude, such as lat,lon; {len(options.geo)} given")
    others = {
        "--columns": options.columns,
        "--standardize": options.standardize,
        "--encode": options.encode,
        "--weights": options.weights,
        "--metric cosine": options.metric != "euclidean",
    }
    given = [name for name, value in others.items() if value]
    if given:
        raise UsageError(f"--geo uses its two columns as they are; leave {' and '.join(given)} out")
    options.columns, options.metric = options.geo, "haversine"


def _draw(options, work, model):
    if options.plot:
        from kfree.cli.pictures import draw_clusters

        draw_clusters(model, work.X, work.feature_names, options.plot)


def fitted(options, work):
    """The fitted estimator for the options."""
    from kfree import DPMeans

    lam = "auto" if options.lam is None else options.lam
    model = DPMeans(
        lam=lam,
        target_k=options.k,
        metric=options.metric,
        memory=options.memory,
        n_threads=options.threads,
        random_state=options.seed,
    )
    weight = work.other(options.weight) if options.weight and work.kept is not None else None
    return model.fit(work.rows, sample_weight=weight)
