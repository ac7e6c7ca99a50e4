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
    from kfree.cli.errors import CommandError
    from kfree.cli.output import output_of, with_gaps, write_beside
    from kfree.cli.tables import InputTable, files_of, require_apart

    output, format_ = output_of(options.input, options.output, options.format)
    console.output_is_data = output == "-"
    require_apart({"the model": options.model, **files_of(options.input)}, {"--output": output})
    model, names = _with_names(load(options.model))
    if not hasattr(model, "predict"):
        raise CommandError(f"{options.model} holds a {type(model).__name__}, which cannot label further rows.")
    table = InputTable(options)
    found, kept = _predicted(model, table, options, console.say)
    if names:
        found["cluster_name"] = np.array([names.get(label, "") for label in found["cluster"].tolist()], dtype=object)
    columns = {name: with_gaps(values, kept) for name, values in found.items()}
    write_beside(table, columns, output, format_, options.safe_cells)
    labels = found["cluster"]
    counts = {int(label): int((labels == label).sum()) for label in sorted(set(labels.tolist()))}
    lines = [f"{table.title}: {len(labels)} row(s) by {options.model}", "", f"{'cluster':>8}  {'rows':>8}"]
    lines += [f"{'new' if label < 0 else label:>8}  {count:8d}" for label, count in counts.items()]
    lines += ["", f"labels: {output}"] if output != "-" else []
    facts = {"input": table.title, "model": options.model, "output": output, "rows": counts}
    console.report("\n".join(lines), facts)


def _with_names(loaded):
    """The model of a file, and names of its clusters: a Clustering has both, and its encoder prepares rows."""
    from copy import copy

    from kfree import Clustering
    from kfree.cli.preparation import Preparation

    if not isinstance(loaded, Clustering):
        return loaded, {}
    model, encoder = copy(loaded.model), loaded.encoder
    if encoder is not None:
        columns = [str(name) for name in encoder.feature_names_in_]
        model.preparation_ = Preparation(columns, encoder.missing, encoder=encoder)
    return model, loaded.names


def _predicted(model, table, options, say):
    """Labels and scores of the rows that can be used, and a mask of these rows; a few rows are read at a time."""
    import numpy as np

    from kfree.cli.output import scores_of

    plan = _plan(model, table, options)
    used = [name for name in plan.columns if name in table.names]
    used += [] if plan.group is None else [plan.group]
    found, kept, n_unseen, begin = [], [], 0, 0
    # Rows of a group are labelled together.
    size = {} if plan.group is None else {"size": table.n_rows}
    for batch in table.batches(used, **size):
        X, complete = plan.matrix(table.title, batch, begin)
        groups = {} if plan.group is None else {"groups": batch[plan.group].to_numpy(zero_copy_only=False)[complete]}
        new = {"allow_new": True} if options.allow_new else {}
        labels = model.predict(X, **groups, **new) if len(X) else np.empty(0, dtype=np.int32)
        if options.unseen != "error":
            unseen = plan.encoder.has_unseen(plan.frame(batch))[complete]
            labels = np.where(unseen, np.int32(-1), labels) if options.unseen == "new" else labels
            n_unseen += int(unseen.sum())
        scores = scores_of(model, X) if options.scores and len(X) else {}
        found.append({"cluster": labels, **scores})
        kept.append(complete)
        begin += len(complete)
    if n_unseen:
        say(f"{n_unseen} row(s) have levels that the rows of the fit did not have ({options.unseen})")
    names = max(found, key=len)
    return {name: np.concatenate([part.get(name, np.empty(0)) for part in found]) for name in names}, np.concatenate(
        kept
    )


def _plan(model, table, options):
    """How rows are prepared for a model."""
    from copy import copy
    from dataclasses import replace

    from kfree.cli.errors import UsageError
    from kfree.cli.preparation import Preparation

    plan = getattr(model, "preparation_", None) or Preparation(_columns(model, table))
    table.require([*plan.needed, *([] if plan.group is None else [plan.group])], "a column of the model")
    if options.unseen == "error":
        return plan
    if plan.encoder is None:
        raise UsageError("--unseen needs a model of a table with --encode, which has levels")
    encoder = copy(plan.encoder)
    encoder.unseen = "missing"
    return replace(plan, encoder=encoder)


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
