"""Configuration of the documentation: Markdown pages, and the API from the docstrings."""

import re

import kfree

project = "kfree"
author = "The kfree developers"
copyright = "The kfree developers"
version = release = kfree.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["images/*.py", "gallery/*.py", "_build"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "kfree"

autodoc_default_options = {"members": True, "inherited-members": True, "member-order": "bysource"}
napoleon_google_docstring = False
napoleon_use_rtype = False

OUTSIDE = re.compile(r"\[([^\]]*)\]\((?:\.\./)+((?:README\.md|benchmarks/|reproduce/|src/|tests/)[^)]*)\)")
ATTRIBUTE = re.compile(r"(?<![`\w.:])([a-z]\w*_)(?![`\w:])")


def paths_outside(app, docname, source):
    """Guides are read in the repository as well: links to files that are not part of the site become paths."""
    source[0] = OUTSIDE.sub(r"\1 (`\2`)", source[0])


def attributes_as_code(app, what, name, obj, options, lines):
    """reStructuredText takes a word that ends with _ for a link; in docstrings it is a fitted attribute."""
    lines[:] = [ATTRIBUTE.sub(r"``\1``", line) for line in lines]


def without_routing(app, what, name, obj, skip, options):
    """Metadata routing and output containers are documented by scikit-learn."""
    return skip or bool(re.search(r"set_\w+_request$|get_metadata_routing$|set_output$", name))


def setup(app):
    app.connect("source-read", paths_outside)
    app.connect("autodoc-process-docstring", attributes_as_code, priority=900)
    app.connect("autodoc-skip-member", without_routing)
