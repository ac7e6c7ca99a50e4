"""Cluster the rows of a table; the number of clusters is found unless --lam or --k is given."""

from kfree.cli import options as shared

HELP = "cluster the rows of a table"


def add_options(parser):
    shared.add_input(parser)
    parser.add_argument("--lam", type=shared.positive, help="the penalty of a cluster, in squared distance")
    parser.add_argument("--k", type=shared.whole, help="the number of clusters, where it is known")
    parser.add_argument(
        "--model",
        choices=["round", "auto"],
        default="round",
        help="round clusters, or (auto) the shape that shows clusters best, for columns of numbers (default: round)",
    )
    parser.add_argument("--id", metavar="COLUMN", help="the column that names rows; it is not clustered")
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
    from kfree.explain.sentences import sentences

    if options.lam is not None and options.k is not None:
        raise UsageError("--lam and --k both set the number of clusters; give one of them")
    if options.geo is not None:
        _use_places(options)
    work = Work(options, console)
    _require_fitting(options, work)
    model = fitted(options, work)
    certainty = _certainty(options, work, model)
    labels = work.labels(model)
    work.write(cluster=labels, **work.scores(model))
    summary = work.summary(model, labels)
    work.finish(
        model=lambda: work.save(model),
        page=lambda: work.report(model, certainty),
        picture=lambda: _draw(options, work, model),
    )
    told = sentences(summary)
    lines = [work.headline(), certainty, *_penalty(options, model), "", str(summary), "", *told, ""]
    facts = work.facts(model, summary) | {"certainty": certainty, "sentences": told}
    console.report("\n".join([*lines, work.places()]), facts)
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


def _require_fitting(options, work):
    """Raise if --model auto cannot do what other options ask for."""
    from kfree.cli.errors import UsageError

    if options.model == "auto" and (options.lam is not None or options.k is not None):
        raise UsageError("--model auto finds the number of clusters; leave --lam and --k out")
    if options.model == "auto" and options.geo is not None:
        raise UsageError("--model auto does not know places on the Earth; leave --model or --geo out")
    if options.model == "auto" and work.kept is None:
        raise UsageError("--model auto takes all rows in memory; give more --memory, or leave --model out")


def _certainty(options, work, model):
    """How sure the number of clusters is, in words; where it was asked for, what the data suggest."""
    import warnings
    from copy import copy

    if options.k is None or work.kept is None:
        return model.certainty()
    without = copy(options)
    without.k = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a clustering that is not the result
        found = fitted(without, work)
    return f"{model.certainty()}; without --k: {found.certainty()}"


def _penalty(options, model):
    """The line about the penalty, where there is one."""
    if options.model == "auto":
        return [f"model: {model.model_name_}"]
    penalty = "given" if options.lam else "found for the number asked for" if options.k else "found from the data"
    return [f"penalty of a cluster: lam = {model.lam_:.6g} ({penalty})"]


def _draw(options, work, model):
    if options.plot:
        from kfree.cli.pictures import draw_clusters

        draw_clusters(model, work.X, work.feature_names, options.plot)


def fitted(options, work):
    """The fitted estimator for the options."""
    from kfree import AutoCluster, DPMeans

    weight = work.other(options.weight) if options.weight and work.kept is not None else None
    if options.model == "auto":
        metric = "auto" if options.metric == "euclidean" else options.metric
        model = AutoCluster(metric=metric, n_threads=options.threads, random_state=options.seed or 0)
        return model.fit(work.X, sample_weight=weight)
    lam = "auto" if options.lam is None else options.lam
    model = DPMeans(
        lam=lam,
        target_k=options.k,
        metric=options.metric,
        memory=options.memory,
        n_threads=options.threads,
        random_state=options.seed,
    )
    return model.fit(work.rows, sample_weight=weight)
