"""Assign the rows of a further table to the clusters of a saved model."""

from kfree.cli import options as shared

HELP = "give further rows to the clusters of a saved model"


def add_options(parser):
    parser.add_argument("model", help="what kfree cluster --save wrote")
    shared.add_input(parser)
    parser.add_argument("--allow-new", action="store_true", help="label rows that belong to no cluster −1")
    shared.add_output(parser)


def run(options, console):
    import kfree
    from kfree.cli.errors import CommandError
    from kfree.cli.output import output_of, with_gaps, write_beside
    from kfree.cli.preparation import Preparation
    from kfree.cli.tables import Source, read_table, require_readable

    output, format_ = output_of(options.input, options.output, options.format)
    console.output_is_data = output == "-"
    require_readable(options.model)
    model = kfree.load(options.model)
    if not hasattr(model, "predict"):
        raise CommandError(f"{options.model} holds a {type(model).__name__}, which cannot label further rows.")
    table = read_table(Source.of(options.input), say=console.say, **shared.reading(options))
    plan = getattr(model, "preparation_", None) or Preparation(_columns(model, table))
    groups = {} if plan.group is None else {"groups": _groups(table, plan)}
    X, kept = plan.matrix(table)
    groups = {name: values[kept] for name, values in groups.items()}
    new = {"allow_new": True} if options.allow_new else {}
    labels = model.predict(X, **groups, **new)
    write_beside(table, {"cluster": with_gaps(labels, kept)}, output, format_)
    counts = {int(label): int((labels == label).sum()) for label in sorted(set(labels.tolist()))}
    lines = [f"{table.source.name}: {len(X)} row(s) by {options.model}", "", f"{'cluster':>8}  {'rows':>8}"]
    lines += [f"{'new' if label < 0 else label:>8}  {count:8d}" for label, count in counts.items()]
    lines += ["", f"labels: {output}"] if output != "-" else []
    facts = {"input": table.source.name, "model": options.model, "output": output, "rows": counts}
    console.report("\n".join(lines), facts)


def _columns(model, table):
    """The columns for a model without a preparation: by name, or all if their number is right."""
    from kfree.cli.errors import CommandError, quoted

    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return [str(name) for name in names]
    numbers = [name for name in table.names if table.kind(name) == "number"]
    if len(numbers) != model.n_features_in_:
        raise CommandError(
            f"the model was fitted with {model.n_features_in_} columns and {table.source.name} has {len(numbers)} "
            f"columns of numbers: {quoted(numbers)}."
        )
    return numbers


def _groups(table, plan):
    table.require([plan.group], "the column of groups of the model")
    return table.values(plan.group)
