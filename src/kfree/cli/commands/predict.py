"""Assign the rows of a further table to the clusters of a saved model."""

from kfree.cli import options as shared

HELP = "give further rows to the clusters of a saved model"


def add_options(parser):
    parser.add_argument("model", help="what kfree cluster --save wrote")
    shared.add_input(parser)
    parser.add_argument("--allow-new", action="store_true", help="label rows that belong to no cluster −1")
    shared.add_output(parser)


def run(options, console):
    from kfree import load
    from kfree.cli.errors import CommandError
    from kfree.cli.output import output_of, with_gaps, write_beside
    from kfree.cli.tables import InputTable, files_of, require_apart

    output, format_ = output_of(options.input, options.output, options.format)
    console.output_is_data = output == "-"
    require_apart({"the model": options.model, **files_of(options.input)}, {"--output": output})
    model = load(options.model)
    if not hasattr(model, "predict"):
        raise CommandError(f"{options.model} holds a {type(model).__name__}, which cannot label further rows.")
    table = InputTable(options)
    labels, kept = _labels(model, table, options)
    write_beside(table, {"cluster": with_gaps(labels, kept)}, output, format_, options.safe_cells)
    counts = {int(label): int((labels == label).sum()) for label in sorted(set(labels.tolist()))}
    lines = [f"{table.title}: {len(labels)} row(s) by {options.model}", "", f"{'cluster':>8}  {'rows':>8}"]
    lines += [f"{'new' if label < 0 else label:>8}  {count:8d}" for label, count in counts.items()]
    lines += ["", f"labels: {output}"] if output != "-" else []
    facts = {"input": table.title, "model": options.model, "output": output, "rows": counts}
    console.report("\n".join(lines), facts)


def _labels(model, table, options):
    """The labels of the rows that can be used, and a mask of these rows; a few rows are read at a time."""
    import numpy as np

    from kfree.cli.preparation import Preparation

    plan = getattr(model, "preparation_", None) or Preparation(_columns(model, table))
    used = [*plan.columns, *([] if plan.group is None else [plan.group])]
    table.require(used, "a column of the model")
    new = {"allow_new": True} if options.allow_new else {}
    labels, kept, begin = [], [], 0
    # Rows of a group are labelled together.
    size = {} if plan.group is None else {"size": table.n_rows}
    for batch in table.batches(used, **size):
        X, complete = plan.matrix(table.title, batch, begin)
        groups = {} if plan.group is None else {"groups": batch[plan.group].to_numpy(zero_copy_only=False)[complete]}
        labels.append(model.predict(X, **groups, **new) if len(X) else np.empty(0, dtype=np.int32))
        kept.append(complete)
        begin += len(complete)
    return np.concatenate(labels), np.concatenate(kept)


def _columns(model, table):
    """The columns for a model without a preparation: by name, or all if their number is right."""
    from kfree.cli.errors import CommandError
    from kfree.core.printing import quoted

    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return [str(name) for name in names]
    numbers = [name for name in table.names if table.type(name).numpy is not None]
    if len(numbers) != model.n_features_in_:
        raise CommandError(
            f"the model was fitted with {model.n_features_in_} columns and {table.title} has {len(numbers)} columns of "
            f"numbers: {quoted(numbers)}."
        )
    return numbers
