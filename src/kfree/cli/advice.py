"""Warnings of estimators in the terms of the command line: names of columns and options in place of parameters."""

import re
import shlex
from ast import literal_eval

from kfree.explain.advice import with_column_names

_LESS = "Leave such columns out with --drop, or give them less weight with --weights"
# What a warning recommends in Python: what does the same on the command line.
_OPTIONS = {
    "for example with kfree.TableEncoder()": "for example with --encode",
    "Encode such columns with kfree.TableEncoder()": "Encode such columns with --encode",
    "Leave such columns out, or give them less weight": _LESS,
    "give lam or target_k, or more rows": "give --lam or --k, or more rows",
    "Give lam or target_k to set": "Give --lam or --k to set",
    "or KMeans if you know": "or --k if you know",
    "path_ shows all": "kfree path shows all",
    "AutoCluster judges": "kfree judges",
    "distinct rows, and X has": "distinct rows, and the table has",
    "Use metric='haversine' with latitude and longitude alone": "Use --geo with both columns",
    "give fold=True to make them one": "give --fold-levels to make them one",
    "Convert them with pandas.to_numeric(…, errors='coerce')": "Give --na for their marks of missing values",
    "Convert them with pandas.to_numeric": "Write them as numbers",
    "Convert them with pandas.to_datetime(…, format=…)": "Write them as 2024-12-31",
    "Convert them with pandas.to_datetime": "Store them as dates",
    "; give encoding if": "; give --encoding if",
}
# The same for errors and remarks.
_ERRORS = {
    "or give unseen='missing'": "or give --unseen missing or --unseen new",
    "drop them, for example with pandas' dropna(how='all')": "remove them, or use --missing drop",
    "missing='nearest' (with prepare='encode')": "--missing nearest (with --encode)",
    "prepare='encode' and categories=": "--encode categories=",
    "prepare='encode'": "--encode",
    "prepare='standardize'": "--standardize",
    "prepare='none'": "--no-encode",
    "metric='cosine'": "--metric cosine",
    " with geo, which": " with --geo, which",
    "categories and fold need": "--categories and --fold-levels need",
    "give that, or another missing": "give that, or another --missing",
    "k and lam both set": "--k and --lam both set",
    "drop=[…]": "--drop",
    "columns=[…]": "--columns",
    " of columns holds": " of --columns holds",
    " of weight holds": " of --weight holds",
    "or lam as a number": "or --lam",
    "or give the right delimiter": "or give the right --delimiter",
    "give more memory, or another missing": "give more --memory, or another --missing",
    "; without k: ": "; without --k: ",
    "For a practical division give k.": "For a practical division give --k.",
}
# Who named a column that is not there; numbers of clusters.
_NAMED = re.compile(r"\((columns|drop|categories|weights|geo|id|weight|group|names)\); it has")
_NUMBERS = re.compile(r"\b(target_k|n_clusters|k|max_k)=(\d+)(?= is )")
_LEFT_OUT_BY = re.compile(r"(?:(?<=')|(?<=more)) by (drop|id|weight|group)\b")
_LEVELS = re.compile(r"\blevels=\(([\d, ]+)\)")
_GEO = re.compile(r"\bgeo=\('([^']*)', '([^']*)'\)")
_VALUES = re.compile(r"\b(missing|unseen)='(\w+)'")
_QUOTED = r"(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
_LISTS = re.compile(rf"\b(drop|categories|columns|geo|na)=(\[(?:{_QUOTED}(?:, )?)+\])")
_MARKS = re.compile(r"\b(thousands|decimal)=('[^']*')")
_HEADER = re.compile(r"\bheader=(True|False)")
_MAX_K = re.compile(r"kfree\.lambda_path\(X, max_k=(\d+)\)(\.suggest\(\)\.lam)?")
_ALONE = re.compile(r"Fit X\[:, (\[[\d, ]+\])\] alone")
_WEIGHTS = re.compile(r"\bweights=")


# The same where columns were encoded, whose numbers no reader knows.
_AFTER_ENCODING = {"Encode such columns with kfree.TableEncoder()": _LESS}
_ENCODED_VALUES = re.compile(r" \(yes/no, or steps of a lattice\), such as .*?, and rows of one value")
# What only Python has.
_OTHER_MODELS = {", or use kfree.BayesianKMeans(model='bernoulli') if all are zeros and ones": ""}


def in_options(message):
    """The text of an error or remark with options in place of parameters."""
    for python, option in _ERRORS.items():
        message = message.replace(python, option)
    message = _LISTS.sub(_listed, message).replace(" and --drop", " --drop")
    message = _MARKS.sub(r"--\1 \2", message)
    message = _HEADER.sub(lambda found: f"--header {'yes' if found[1] == 'True' else 'no'}", message)
    message = _GEO.sub(r"--geo \1,\2", message)
    message = _NAMED.sub(r"(--\1); it has", message)
    message = _LEFT_OUT_BY.sub(r" by --\1", message)
    message = _NUMBERS.sub(lambda found: f"--{'max-k' if found[1] == 'max_k' else 'k'} {found[2]}", message)
    message = _LEVELS.sub(lambda found: "--levels " + found[1].replace(" ", "").strip(","), message)
    return _WEIGHTS.sub("--weights: ", _VALUES.sub(r"--\1 \2", message))


def _listed(found):
    """A list of names, or of cells, as a value of an option."""
    names = ",".join(literal_eval(found[2]))
    return f"--{found[1]} '{names}'" if found[1] == "na" else f"--{found[1]} {shlex.quote(names)}"


def in_terms_of_the_table(message, columns, encoded=False):
    """The text of a warning, for a table whose ``columns`` the estimator knows by number."""
    for python, option in (_OPTIONS | _OTHER_MODELS | (_AFTER_ENCODING if encoded else {})).items():
        message = message.replace(python, option)
    message = _ENCODED_VALUES.sub(", and rows of one value", message) if encoded else message
    message = _MAX_K.sub(r"kfree path --max-k \1", message)
    message = _ALONE.sub(lambda found: f"Use --columns {','.join(_names(found[1], columns))} alone", message)
    return with_column_names(message, columns)


def _names(numbers, columns):
    """Names of columns by their numbers."""
    return [columns[j] if j < len(columns) else f"x{j}" for j in literal_eval(numbers)]
