"""Tables that are measured a row at a time: a row replaces the one that it repeats, and names its commit."""

import inspect
import json
from functools import cache

from ratio import RESULTS, commit, versions

# The commit at the start of a run, which may take hours.
commit_at_start = cache(commit)


class Kept:
    """The tables of one benchmark. ``parts`` are functions by name, whose docstrings say what their tables show."""

    def __init__(self, name, parts, *packages):
        self._json, self._md = RESULTS / f"{name}.json", RESULTS / f"{name}.md"
        self._parts, self._packages = parts, packages
        commit_at_start()

    def rows(self, table):
        """The rows of a table that was measured before."""
        return self._results()[table]

    def keep(self, table, row, same):
        """Replace the row whose values named in ``same`` are those of ``row``, and write all tables."""
        results = self._results()
        others = [old for old in results.get(table, []) if any(old[name] != row[name] for name in same)]
        results[table] = [*others, {**row, "commit": commit_at_start()}]
        results["versions"] = {**versions(*self._packages), "commit": commit_at_start()}
        self._json.write_text(json.dumps(results, indent=1) + "\n")
        self._md.write_text(self._rendered(results))
        print(table, row, flush=True)

    def _results(self):
        return json.loads(self._json.read_text()) if self._json.exists() else {}

    def _rendered(self, results):
        lines = [", ".join(f"{name} {value}" for name, value in results["versions"].items()), ""]
        for name, part in self._parts.items():
            rows = results.get(name)
            if rows:
                names = list(rows[-1])
                lines += [f"## {name}", "", inspect.cleandoc(part.__doc__), ""]
                lines += ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
                lines += ["| " + " | ".join(_shown(row.get(name, "")) for name in names) + " |" for row in rows]
                lines.append("")
        return "\n".join(lines)


def _shown(value):
    return f"{value:.6g}" if isinstance(value, float) else str(value)
