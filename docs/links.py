"""A hook of MkDocs: guides are read in the repository as well, so links to files outside docs/ become paths."""

import re

OUTSIDE = re.compile(r"\[([^\]]*)\]\((?:\.\./)+((?:README\.md|benchmarks/|reproduce/|src/|tests/)[^)]*)\)")


def on_page_markdown(markdown, **_):
    """Replace [table](../benchmarks/results/x.md) by the path, which has no page on the site."""
    return OUTSIDE.sub(r"\1 (`\2`)", markdown)
