"""The steps that commands on tables share: read and prepare, write labels and models, describe the result."""

from dataclasses import asdict, replace

from kfree.cli.errors import CommandError, UsageError, parameters_of_the_command
from kfree.cli.output import masked_elsewhere, output_of, reported, save_model, write_beside, write_columns
from kfree.cli.pictures import draw, require_picture
from kfree.cli.tables import files_of, input_table, require_apart
from kfree.clustering.assigning import scores_of
from kfree.clustering.columns import ColumnOptions, prepare_of
from kfree.clustering.result import Clustering
from kfree.clustering.rows import prepared


class Outputs:
    """What a command writes: files that do not depend on each other, and a summary that says where they are.

    ``output`` and ``format`` are those of its table. They are None where ``by_default`` it writes none, and --output
    asks for none. ``inputs`` are files that it reads beside the input, by what they are to a message.
    """

    def __init__(self, options, console, *, by_default=True, inputs=None):
        self.options, self.console = options, console
        self.output, self.format = _table_of(options, by_default)
        console.output_is_data = self.output == "-"
        require_picture(getattr(options, "plot", None))
        outputs = {f"--{name}": getattr(options, name, None) for name in ("save", "report", "plot", "tree")}
        require_apart({**(inputs or {}), **files_of(options.input)}, {"--output": self.output, **outputs})
        self.written_files, self._faults = {}, []

    def attempt(self, what, path, step, *given, **settings):
        """Write something to a path, if there is one; where it fails, others are written, and ``end`` raises."""
        if path is None:
            return
        self.console.begins(what if what in ("page", "picture") else "writing")
        try:
            step(path, *given, **settings)
        except BrokenPipeError:  # nobody reads standard output any more
            raise
        except (CommandError, ImportError, OSError, ValueError, TypeError) as error:
            self._faults.append(f"the {what} {'were' if what.endswith('s') else 'was'} not written: {error}")
        else:
            self.written_files |= {what: path} if path != "-" else {}

    def write_columns(self, what, columns):
        """Write a table of its own."""
        self.attempt(what, self.output, write_columns, columns, self.format, self.options.safe_cells)

    def end(self, lines, facts):
        """Print the summary and where results are, and raise what failed."""
        places = [f"{what}: {path}" for what, path in self.written_files.items()]
        self.console.report("\n".join([*lines, *places]), facts)
        if self._faults:
            raise CommandError("; ".join(self._faults))


class TableCommand(Outputs):
    """Reads and prepares the input of one command, and writes its labels, model, page and summary.

    The table is prepared as :func:`kfree.cluster` prepares it; ``rows`` are :class:`kfree.clustering.rows.TableRows`.
    """

    def __init__(self, options, console, group=None, by_default=True):
        super().__init__(options, console, by_default=by_default)
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

    @property
    def row_names(self):
        """What rows are called: the values of --id, or their numbers from 1."""
        return self.rows.names_by(self.id, first=1)

    def scores(self, model):
        """Columns for --scores."""
        return scores_of(model, self.rows.rows) if self.options.scores else {}

    def write(self, **columns):
        """Write the input with these columns more."""
        kept = self.rows.kept
        gapped = {name: values if kept is None else masked_elsewhere(values, kept) for name, values in columns.items()}
        self.attempt("labels", self.output, self._write_beside, gapped)

    def finish(self, model, *picture, **settings):
        """Write the model, which may be a Clustering, the page and the picture that are asked for.

        A picture is a function of :mod:`kfree.plot` by name, and what it is given.
        """
        asked = {name: getattr(self.options, name, None) for name in ("save", "report", "plot")}
        self.attempt("model", asked["save"], self._save, model)
        self.attempt("page", asked["report"], self._report, model)
        self.attempt("picture", asked["plot"], draw, *picture, **settings)

    def end(self, lines, facts):
        """Print what was clustered, the summary and where results are, and raise what failed."""
        super().end([self.headline(), *lines], facts)

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

    def _write_beside(self, path, columns):
        write_beside(self.table, columns, path, self.format, self.options.safe_cells)

    def _save(self, path, model):
        if not isinstance(model, Clustering):  # which has its preparation
            model.preparation_ = self.plan
        save_model(model, path)

    def _report(self, path, model):
        from kfree.report import write_report

        with reported(path):
            if isinstance(model, Clustering):
                model.report(path)
            else:
                facts = {"title": self.table.title, "encoder": self.plan, "row_numbers": self.row_names}
                write_report(path, model, self.X, remarks=self.console.remarks, **facts)


def _table_of(options, by_default):
    """The path and the format of the table that a command writes, if it writes one."""
    if by_default or options.output is not None:
        return output_of(options.input, options.output, options.format)
    if options.format is not None:
        raise UsageError(f"--format {options.format} is that of --output; give --output, too")
    return None, None


def _column_options(options, table, group):
    """What the command line says about columns, as parameters of :func:`kfree.cluster`."""
    parameters = ("group", "names", "weight", "id")
    named = {parameter: getattr(options, parameter, None) for parameter in parameters}
    prepare = prepare_of(options.prepare, table, getattr(options, "metric", "euclidean"))
    with parameters_of_the_command():
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
