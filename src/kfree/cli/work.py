"""The steps that commands on tables share: read and prepare, write labels and models, describe the result."""

from dataclasses import asdict, replace

import numpy as np

from kfree.cli.errors import UsageError
from kfree.cli.options import reading
from kfree.cli.output import output_of, reported, save_model, with_gaps, write_beside
from kfree.cli.preparation import chosen_columns, prepare
from kfree.cli.tables import Source, read_table


class Work:
    """A table on its way through a command."""

    def __init__(self, options, console, group=None):
        self.options, self.console = options, console
        allowed = ("error", "nearest") if options.encode else ("error", "drop", "mean")
        if options.missing not in allowed:
            raise UsageError("--missing nearest needs --encode; --missing drop and mean do not allow it")
        if options.encode and options.standardize:
            raise UsageError("--encode scales columns itself; leave --standardize out")
        self.output, self.format = output_of(options.input, options.output, options.format)
        console.output_is_data = self.output == "-"
        self.others = [name for name in (group, getattr(options, "names", None)) if name]
        needed = None if not options.columns else [*options.columns, *self.others]
        source = Source.of(options.input)
        self.table = read_table(source, columns=needed, say=console.say, **reading(options))
        self.table.require(self.others, "--group or --names")
        columns = chosen_columns(self.table, options.columns, options.drop, self.others, options.encode, console.say)
        self._other_values = {name: self.table.values(name) for name in self.others}
        self.X, self.kept, self.plan = prepare(
            self.table,
            columns,
            missing=options.missing,
            standardize=options.standardize,
            encode=options.encode,
            group=group,
        )
        console.columns, console.encoded = self.feature_names, options.encode
        if not self.kept.all():
            console.say(f"left out {int((~self.kept).sum())} of {len(self.kept)} rows with missing values")

    def other(self, name):
        """The values of a column that is not clustered, of the rows that are."""
        return self._other_values[name][self.kept]

    @property
    def feature_names(self):
        """Names of the columns of X."""
        encoder = self.plan.encoder
        return self.plan.columns if encoder is None else [str(name) for name in encoder.get_feature_names_out()]

    @property
    def row_numbers(self):
        """Numbers of the rows of X in the file, counted from 1 without the header."""
        return np.flatnonzero(self.kept) + 1

    def write(self, **columns):
        """Write the input with these columns more."""
        gapped = {name: with_gaps(values, self.kept) for name, values in columns.items()}
        write_beside(self.table, gapped, self.output, self.format)

    def save(self, model):
        """Write the model to the path of --save, with the preparation of its rows."""
        model.preparation_ = self.plan
        if self.options.save:
            save_model(model, self.options.save)

    def report(self, model):
        """Write the page of --report."""
        from kfree.report import write_report

        facts = {"title": self.table.source.name, "plan": self.plan, "row_numbers": self.row_numbers}
        with reported(self.options.report):
            write_report(self.options.report, model, self.X, self.feature_names, **facts)

    def summary(self, model):
        """The summary of a model, with rows by their number in the file and means in the units of the file."""
        from kfree.explain import summarize

        summary = summarize(model, self.X, self.feature_names)
        clusters = tuple(replace(c, features=self._in_units(c.features)) for c in summary.clusters)
        return replace(summary, clusters=clusters, row_names=self.row_numbers)

    def _in_units(self, features):
        place = {name: j for j, name in enumerate(self.feature_names)}
        means = np.zeros((1, len(place)))
        means[0, [place[name] for name, _, _ in features]] = [mean for _, _, mean in features]
        in_units = self.plan.in_units(means)[0]
        return tuple((name, effect, float(in_units[place[name]])) for name, effect, _ in features)

    def facts(self, model, summary):
        """The result for ``--json``."""
        clusters = [
            asdict(c)
            | {
                "exemplars": [int(self.row_numbers[row]) for row in c.exemplars],
                "features": [{"name": name, "effect": effect, "mean": mean} for name, effect, mean in c.features],
            }
            for c in summary.clusters
        ]
        found = {name: getattr(model, f"{name}_") for name in ("lam", "cost", "inertia") if hasattr(model, f"{name}_")}
        return {
            "input": self.table.source.name,
            "output": self.output,
            "n_rows": len(self.X),
            "columns": self.plan.columns,
            "n_clusters": len(clusters),
            **found,
            "clusters": clusters,
        }

    def headline(self):
        """What was clustered."""
        rows, columns = self.X.shape
        return f"{self.table.source.name}: {rows} row(s), {columns} column(s)"

    def places(self):
        """Where results were written, one line each."""
        wanted = [("labels", self.output if self.output != "-" else None)]
        wanted += [(name, getattr(self.options, name, None)) for name in ("report", "plot", "save")]
        words = {"labels": "labels", "report": "report", "plot": "picture", "save": "model"}
        return "\n".join(f"{words[name]}: {path}" for name, path in wanted if path)
