"""A hook of MkDocs: links of the guides to files outside docs/ lead to the repository."""

import re

REPOSITORY = "https://github.com/kfree/kfree/blob/main/"


def on_page_markdown(markdown, **_):
    """Guides are read in the repository as well, where ../benchmarks/… is a file."""
    return re.sub(r"\]\(\.\./((?:\.\./)*)(README\.md|benchmarks/|reproduce/|src/|tests/)", rf"]({REPOSITORY}\2", markdown)
