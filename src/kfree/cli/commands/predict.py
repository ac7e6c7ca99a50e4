"""Assign the rows of a further table to the clusters of a saved model."""

from kfree.cli import options as shared

HELP = "give further rows to the clusters of a saved model"


def add_options(parser):
    parser.add_argument("model", help="what kfree cluster --save wrote")
    shared.add_input(parser)
    parser.add_argument("--allow-new", action="store_true", help="label rows that belong to no cluster −1")
    parser.add_argument(
        "--unseen",
        choices=["error", "missing", "new"],
        default="error",
        help="levels that the rows of the fit did not have: an error, as if missing, or label such rows −1",
    )
    shared.add_output(parser)
    shared.add_scores(parser)


def run(options, console):
    import numpy as np

    from kfree import load
    from kfree.cli.errors import CommandError, UsageError
    from kfree.cli.output import masked_elsewhere, write_beside
    from kfree.cli.tables import input_table
    from kfree.cli.work import Outputs
    from kfree.clustering.assigning import assigned
    from kfree.clustering.columns import tell_of_filled, tell_of_marks

    outputs = Outputs(options, console, inputs={"the model": options.model})
    model, plan, names = _parts(load(options.model))
    if not hasattr(model, "predict"):
        raise CommandError(f"{options.model} holds a {type(model).__name__}, which cannot label further rows.")
    console.begins("reading")
    table = input_table(options, plan)
    plan = plan or _plan_of(model, table)
    if options.unseen != "error" and plan.encoder is None:
        raise UsageError("--unseen needs a model of a table that was encoded, which has levels")
    tell_of_marks(table, plan.columns, console.say)
    wanted = {"allow_new": options.allow_new, "unseen": options.unseen, "scores": options.scores}
    console.begins("clustering")
    found = assigned(model, plan, table, **wanted)
    tell_of_filled(plan, *found.filled, console.say)
    if found.n_unseen:
        console.say(f"{found.n_unseen:,} row(s) have levels that the rows of the fit did not have ({options.unseen})")
    if not found.kept.all():
        console.say(f"{(~found.kept).sum():,} of {len(found.kept):,} rows have missing values and no cluster")
    columns, labels = dict(found.columns), found.columns["cluster"]
    if names:
        columns["cluster_name"] = np.array([names.get(label, "") for label in labels.tolist()], dtype=object)
    columns = {name: masked_elsewhere(values, found.kept) for name, values in columns.items()}
    outputs.attempt(
        "labels", outputs.output, lambda path: write_beside(table, columns, path, outputs.format, options.safe_cells)
    )
    counts = {int(label): int((labels == label).sum()) for label in sorted(set(labels.tolist()))}
    lines = [f"{table.title}: {len(labels):,} row(s) by {options.model}", "", f"{'cluster':>8}  {'rows':>8}"]
    lines += [f"{'new' if label < 0 else label:>8}  {count:8d}" for label, count in counts.items()]
    facts = {"input": table.title, "model": options.model, "output": outputs.output, "rows": counts}
    outputs.end([*lines, ""], facts)


def _parts(loaded):
    """Model, preparation (None if the file has none) and names of clusters of what a file holds."""
    from kfree import Clustering

    if isinstance(loaded, Clustering):
        return loaded.model, loaded.preparation, loaded.names
    return loaded, getattr(loaded, "preparation_", None), {}


def _plan_of(model, table):
    """The preparation for a model without one: its columns by name, or all numbers if there are as many."""
    from kfree.cli.errors import CommandError
    from kfree.clustering.preparation import Preparation
    from kfree.core.printing import quoted

    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return Preparation([str(name) for name in names])
    numbers = [name for name in table.names if table.is_number(name)]
    if len(numbers) != model.n_features_in_:
        raise CommandError(
            f"the model was fitted with {model.n_features_in_} columns and {table.title} has {len(numbers)} columns of "
            f"numbers: {quoted(numbers)}."
        )
    return Preparation(numbers)
