"""Warnings of estimators in the terms of the command line: names of columns and options in place of parameters."""

from kfree.explain.advice import with_column_names

_LESS = "Leave such columns out with --drop, or give them less weight with --weights"
# What a warning recommends in Python: what does the same on the command line.
_OPTIONS = {
    "for example with kfree.TableEncoder()": "for example with --standardize",
    "Encode such columns with kfree.TableEncoder()": "Encode such columns with --encode",
    "Leave such columns out, or give them less weight": _LESS,
    "give lam or target_k, or more rows": "give --lam or --k, or more rows",
    "Give lam or target_k to set": "Give --lam or --k to set",
    "; path_ shows all": "; kfree path shows all",
    "give fold=True to make them one": "give --fold-levels to make them one",
    "; give encoding if": "; give --encoding if",
}
# The same for errors.
_ERRORS = {
    "or give unseen='missing'": "or give --unseen missing or --unseen new",
    "drop them, for example with pandas' dropna(how='all')": "remove them, or use --missing drop",
    "weights=": "--weights: ",
}


# The same where --encode was given.
_AFTER_ENCODING = {"Encode such columns with kfree.TableEncoder()": _LESS}


def in_options(message):
    """The text of an error with options in place of parameters."""
    for python, option in _ERRORS.items():
        message = message.replace(python, option)
    return message


def in_terms_of_the_table(message, columns, encoded=False):
    """The text of a warning, for a table whose ``columns`` the estimator knows by number."""
    for python, option in (_OPTIONS | (_AFTER_ENCODING if encoded else {})).items():
        message = message.replace(python, option)
    return with_column_names(message, columns)
