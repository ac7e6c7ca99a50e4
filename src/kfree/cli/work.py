"""The steps that commands on tables share: read and prepare, write labels and models, describe the result."""

from dataclasses import asdict, replace

from kfree.cli.errors import CommandError, UsageError
from kfree.cli.output import output_of, reported, save_model, scores_of, with_gaps, write_beside
from kfree.cli.tables import files_of, input_table, require_apart
from kfree.clustering.columns import ColumnOptions, prepare_of
from kfree.clustering.rows import prepared


class Work:
    """A table on its way through a command, prepared as :func:`kfree.cluster` prepares it.

    ``rows`` are those of :class:`kfree.clustering.rows.TableRows`.
    """

    def __init__(self, options, console, group=None):
        self.options, self.console, self._faults = options, console, []
        self.output, self.format = output_of(options.input, options.output, options.format)
        console.output_is_data = self.output == "-"
        outputs = {f"--{name}": getattr(options, name, None) for name in ("save", "report", "plot", "tree")}
        require_apart(files_of(options.input), {"--output": self.output, **outputs})
        self.weight, self.id = getattr(options, "weight", None), getattr(options, "id", None)
        console.begins("reading")
        self.table = input_table(options)
        console.begins("preparing")
        named = _column_options(options, self.table, group)
        memory = getattr(options, "memory", None)
        self.rows = prepared(self.table, named, console.say, weight=self.weight, memory=memory)
        console.begins("clustering")
        console.columns, console.encoded = self.feature_names, named.prepare == "encode"

    @property
    def X(self):
        return self.rows.X

    @property
    def plan(self):
        return self.rows.preparation

    @property
    def feature_names(self):
        """Names of the columns of X."""
        return self.rows.feature_names

    def scores(self, model):
        """Columns for --scores."""
        return scores_of(model, self.rows.rows) if self.options.scores else {}

    def finish(self, **steps):
        """Do these steps; one that fails leaves the others, and its error ends the command when all are done."""
        for what, step in steps.items():
            try:
                step()
            except (CommandError, OSError, ValueError, TypeError) as error:
                self._faults.append(f"the {what} was not written: {error}")

    def end(self):
        """Raise what failed in the steps."""
        if self._faults:
            raise CommandError("; ".join(self._faults))

    def write(self, **columns):
        """Write the input with these columns more."""
        self.console.begins("writing")
        kept = self.rows.kept
        gapped = {name: values if kept is None else with_gaps(values, kept) for name, values in columns.items()}
        write_beside(self.table, gapped, self.output, self.format, self.options.safe_cells)

    def save(self, model):
        """Write the model to the path of --save, with the preparation of its rows."""
        model.preparation_ = self.plan
        if self.options.save:
            save_model(model, self.options.save)

    @property
    def row_names(self):
        """What rows are called: the values of --id, or their numbers from 1."""
        return self.rows.names_by(self.id, first=1)

    def report(self, model):
        """Write the page of --report, if there is one."""
        if not self.options.report:
            return
        self.console.begins("page")
        from kfree.report import write_report

        facts = {"title": self.table.title, "encoder": self.plan, "row_numbers": self.row_names}
        with reported(self.options.report):
            write_report(self.options.report, model, self.X, remarks=self.console.remarks, **facts)

    def summary(self, model):
        """The summary of a model, with rows by their number in the file and means in the units of the file."""
        from kfree.explain import summarize

        return replace(summarize(model, self.X, encoder=self.plan), row_names=self.row_names)

    def facts(self, model, summary):
        """The result for ``--json``."""
        clusters = [
            asdict(c)
            | {
                "exemplars": [summary.row_names[row] for row in c.exemplars],
                "features": [
                    {"name": f.name, "effect": f.effect, "mean": f.mean, "others": f.others, "text": f.text}
                    for f in c.features
                ],
            }
            for c in summary.clusters
        ]
        found = {name: getattr(model, f"{name}_") for name in ("lam", "cost", "inertia") if hasattr(model, f"{name}_")}
        return {
            "input": self.table.title,
            "output": self.output,
            "n_rows": summary.n_rows,
            "columns": self.plan.columns,
            "n_clusters": len(clusters),
            **found,
            "clusters": clusters,
        }

    def headline(self):
        """What was clustered."""
        (n_rows, n_encoded), n_columns = self.rows.rows.shape, len(self.plan.columns)
        encoded = "" if n_encoded == n_columns else f", encoded as {n_encoded}"
        return f"{self.table.title}: {n_rows:,} row(s), {n_columns} column(s){encoded}"

    def places(self):
        """Where results were written, one line each."""
        wanted = [("labels", self.output if self.output != "-" else None)]
        wanted += [(name, getattr(self.options, name, None)) for name in ("report", "plot", "save")]
        words = {"labels": "labels", "report": "report", "plot": "picture", "save": "model"}
        return "\n".join(f"{words[name]}: {path}" for name, path in wanted if path)


def _require_compatible(options, prepare):
    if prepare == "encode":
        return
    if options.missing == "nearest":
        raise UsageError("--missing nearest needs columns that are encoded; use --encode, or another --missing")
    if options.categories or options.fold_levels:
        raise UsageError("--categories and --fold-levels need columns that are encoded; use --encode")


def _column_options(options, table, group):
    """What the command line says about columns, as parameters of :func:`kfree.cluster`."""
    parameters = ("group", "names", "weight", "id")
    named = {parameter: getattr(options, parameter, None) for parameter in parameters}
    prepare = prepare_of(options.prepare, table, getattr(options, "metric", "euclidean"))
    _require_compatible(options, prepare)
    return ColumnOptions(
        prepare=prepare,
        columns=options.columns,
        drop=options.drop,
        others={parameter: name for parameter, name in named.items() if name is not None},
        group=group,
        categories=options.categories,
        weights=options.weights,
        fold=options.fold_levels,
        missing=options.missing,
        are_places=getattr(options, "geo", None) is not None,
    )
