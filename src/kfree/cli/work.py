"""The steps that commands on tables share: read and prepare, write labels and models, describe the result."""

from copy import copy
from dataclasses import asdict, replace

import numpy as np

from kfree.cli.errors import CommandError, UsageError
from kfree.cli.output import output_of, reported, save_model, scores_of, with_gaps, write_beside
from kfree.cli.preparation import (
    Preparation,
    chosen_columns,
    encoder_for,
    prepared,
    streamed,
    warn_about_codes,
)
from kfree.cli.tables import InputTable, files_of, require_apart
from kfree.core.memory import memory_bytes
from kfree.search.summary.plan import bytes_to_search

_ROWS_AT_ONCE = 65536


class Work:
    """A table on its way through a command.

    ``X`` are the rows in memory, ``rows`` what is fitted: the same, or a stream of all rows if these do not fit in the
    memory of --memory. Then X are some of the rows, which the summary, the page and the picture show.
    """

    def __init__(self, options, console, group=None):
        self.options, self.console, self._faults = options, console, []
        missing = options.missing or ("nearest" if options.encode else "error")
        if missing == "nearest" and not options.encode:
            raise UsageError("--missing nearest needs --encode")
        if options.encode and options.standardize:
            raise UsageError("--encode scales columns itself; leave --standardize out")
        if not options.encode and (options.drop_text or options.categories or options.fold_levels):
            raise UsageError("--drop-text, --categories and --fold-levels need --encode")
        self.output, self.format = output_of(options.input, options.output, options.format)
        console.output_is_data = self.output == "-"
        outputs = {f"--{name}": getattr(options, name, None) for name in ("save", "report", "plot")}
        require_apart(files_of(options.input), {"--output": self.output, **outputs})
        self.weight = getattr(options, "weight", None)
        self.id = getattr(options, "id", None)
        self.others = [name for name in (group, getattr(options, "names", None), self.weight, self.id) if name]
        self.table = InputTable(options)
        self.table.require(self.others, "--group, --names, --weight or --id")
        self.table.require([*(options.categories or []), *options.weights], "--categories or --weights")
        columns = chosen_columns(self.table, options.columns, options.drop, self.others, options.encode, console.say)
        plan, encoder = Preparation(columns, missing, group), encoder_for(options, missing)
        if self._is_large(len(columns)):
            found = streamed(
                self.table, plan, encoder, self.table.columns.get(self.weight), options.drop_text, console.say
            )
            self.rows, self.X, self.row_numbers, self.plan = found
            self.kept = None
        else:
            self.X, self.kept, self.plan = prepared(self.table, plan, encoder, options.drop_text, console.say)
            self.rows, self.row_numbers = self.X, np.flatnonzero(self.kept)
        self._remark()

    def _is_large(self, n_columns):
        memory = getattr(self.options, "memory", None)
        return memory is not None and bytes_to_search(self.table.n_rows, n_columns) > memory_bytes(memory)

    def _remark(self):
        self.console.columns, self.console.encoded = self.feature_names, self.options.encode
        if self.kept is None:
            what = "scales, summary, page and picture are" if self.plan.encoder else "summary, page and picture are"
            self.console.say(f"{what} those of {len(self.X)} of {self.table.n_rows} rows, spread evenly over the table")
        elif not self.kept.all():
            self.console.say(f"left out {int((~self.kept).sum())} of {len(self.kept)} rows with missing values")
        warn_about_codes(self.table, self.plan, self.feature_names, self.X, self.console.say)

    def other(self, name):
        """The values of a column that is not clustered, of the rows that are."""
        values = self.table.read([name]).column(0)
        return values.to_numpy()[self.kept]

    @property
    def feature_names(self):
        """Names of the columns of X."""
        return self.plan.get_feature_names_out()

    def labels(self, model):
        """The label of every row, in memory or in a file."""
        from kfree.cli.output import labels_on_disk

        return model.labels_ if self.kept is not None else labels_on_disk(model, self.rows)

    def scores(self, model):
        """Columns for --scores."""
        if not self.options.scores:
            return {}
        if self.kept is not None:
            return scores_of(model, self.X)
        parts = [scores_of(model, chunk.X) for chunk in self.rows.chunks(0, self.rows.n_rows, _ROWS_AT_ONCE)]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

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
        gapped = {
            name: values if self.kept is None else with_gaps(values, self.kept) for name, values in columns.items()
        }
        write_beside(self.table, gapped, self.output, self.format, self.options.safe_cells)

    def save(self, model):
        """Write the model to the path of --save, with the preparation of its rows."""
        model.preparation_ = self.plan
        if self.options.save:
            save_model(model, self.options.save)

    @property
    def row_names(self):
        """What rows are called: the values of --id, or their numbers from 1."""
        if self.id is None:
            return self.row_numbers + 1
        return np.array(self.table.read([self.id]).column(0).to_pylist(), dtype=object)[self.row_numbers]

    def report(self, model, certainty=None):
        """Write the page of --report, if there is one."""
        if not self.options.report:
            return
        from kfree.report import write_report

        title = self.table.title
        if self.kept is None:
            model, title = copy(model), f"{title} ({len(self.X)} of {self.table.n_rows} rows)"
            model.labels_ = model.predict(self.X)
        facts = {"title": title, "encoder": self.plan, "row_numbers": self.row_names}
        facts |= {"certainty": certainty, "remarks": self.console.remarks}
        with reported(self.options.report):
            write_report(self.options.report, model, self.X, **facts)

    def summary(self, model, labels):
        """The summary of a model, with rows by their number in the file and means in the units of the file."""
        from kfree.explain import summarize

        summary = summarize(model, self.X, encoder=self.plan)
        sizes = np.bincount(labels, minlength=len(summary.clusters)) if self.kept is None else None
        clusters = summary.clusters
        if sizes is not None:
            shares = sizes / len(labels)
            clusters = tuple(replace(c, size=int(sizes[c.label]), share=float(shares[c.label])) for c in clusters)
            summary = replace(summary, n_rows=len(labels))
        return replace(summary, clusters=clusters, row_names=self.row_names)

    def facts(self, model, summary):
        """The result for ``--json``."""
        clusters = [
            asdict(c)
            | {
                "exemplars": [self.row_names[row] for row in c.exemplars],
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
        n_rows, n_columns = self.rows.shape
        return f"{self.table.title}: {n_rows} row(s), {n_columns} column(s)"

    def places(self):
        """Where results were written, one line each."""
        wanted = [("labels", self.output if self.output != "-" else None)]
        wanted += [(name, getattr(self.options, name, None)) for name in ("report", "plot", "save")]
        words = {"labels": "labels", "report": "report", "plot": "picture", "save": "model"}
        return "\n".join(f"{words[name]}: {path}" for name, path in wanted if path)
