"""Cluster the rows of a table; the number of clusters is found unless --lam or --k is given."""

from kfree.cli import options as shared

HELP = "cluster the rows of a table"


def add_options(parser):
    shared.add_input(parser)
    parser.add_argument("--lam", type=shared.positive, help="the penalty of a cluster, in squared distance")
    parser.add_argument("--k", type=shared.whole, help="the number of clusters, where it is known")
    parser.add_argument(
        "--model",
        choices=["auto", "round"],
        default="auto",
        help="the shape that shows clusters best, or round clusters, as with --lam, --k and --geo (default: auto)",
    )
    parser.add_argument(
        "--id", type=shared.name, metavar="COLUMN", help="the column that names rows; it is not clustered"
    )
    parser.add_argument("--metric", choices=["euclidean", "cosine"], default="euclidean")
    degrees = "columns of latitude and longitude in degrees; --lam is in km²"
    parser.add_argument("--geo", type=shared.names, metavar="LAT,LON", help=degrees)
    parser.add_argument("--memory", type=shared.memory, metavar="SIZE", help="such as 500MB; more rows are streamed")
    parser.add_argument(
        "--weight", type=shared.name, metavar="COLUMN", help="the column that says how many times a row counts"
    )
    shared.add_computing(parser)
    shared.add_columns(parser)
    shared.add_output(parser)
    shared.add_scores(parser)
    shared.add_report(parser)
    parser.add_argument("--plot", metavar="PICTURE.png", help="draw the clusters")
    parser.add_argument("--save", metavar="MODEL.kfree", help="write the model, for kfree predict")


def run(options, console):
    from kfree.cli.errors import parameters_of_the_command
    from kfree.cli.work import TableCommand
    from kfree.clustering.fitting import FitOptions, clustered
    from kfree.clustering.from_table import as_places

    with parameters_of_the_command():
        if options.geo is not None:
            given = (options.columns, options.prepare, options.metric, options.weights)
            options.columns, options.prepare, options.metric = as_places(options.geo, *given)
        given = (options.model, options.k, options.lam, options.metric, options.memory, options.threads)
        fitting = FitOptions(*given, random_state=options.seed or 0)
    work = TableCommand(options, console)
    weights = work.rows.weights(work.weight)
    clustering = clustered(work.rows, fitting, weights, console.say, id=work.id, first_row=1)
    _in_words_of_the_command(clustering, work)
    model = clustering.model
    work.write(cluster=clustering._used_labels, **work.scores(model))
    work.finish(clustering, "clusters", model, work.X, feature_names=work.feature_names)
    told, summary = clustering.sentences(), clustering.summary()
    lines = [clustering.certainty, *_fitted(options, model), "", str(summary), "", *told, ""]
    work.end(lines, work.facts(model, summary) | {"certainty": clustering.certainty, "sentences": told})


def _in_words_of_the_command(clustering, work):
    """Title, certainty and remarks as the command prints them."""
    from kfree.cli.advice import in_options

    clustering.title, clustering.certainty = work.table.title, in_options(clustering.certainty)
    clustering.remarks = work.console.remarks


def _fitted(options, model):
    """The line about the model: its name, or the penalty of a cluster."""
    if hasattr(model, "model_name_"):
        return [f"model: {model.model_name_}"]
    penalty = "given" if options.lam else "found for the number asked for" if options.k else "found from the data"
    return [f"penalty of a cluster: lam = {model.lam_:.6g} ({penalty})"]
