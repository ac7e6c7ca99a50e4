"""Options that several commands share, and the types of their values."""

import argparse


def positive(text):
    """A number above zero."""
    value = _number(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number above 0")
    return value


def whole(text):
    """A whole number of at least one."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def name(text):
    """The name of a column."""
    if not text:  # as a variable of a shell that is not set
        raise argparse.ArgumentTypeError(f"{text!r} names no column; give the name of one, or leave the option out")
    return text


def names(text):
    """Names of columns, separated by commas."""
    found = listed(text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} names no column; give names, separated by commas")
    return found


def listed(text):
    """What stands between commas."""
    return list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def weights(text):
    """Names of columns with positive numbers."""
    pairs = [pair.rpartition("=") for pair in names(text)]
    return {name.strip(): positive(number) for name, _, number in pairs}


def delimiter(text):
    """One character, or the word tab."""
    known = {"tab": "\t", r"\t": "\t", "comma": ",", "semicolon": ";", "space": " "}
    value = known.get(text, text)
    if len(value) != 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not one character, nor 'tab'")
    return value


def memory(text):
    """A limit of memory."""
    from kfree.core.memory import memory_bytes

    try:
        memory_bytes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def add_input(parser, what="the table: CSV, TSV, Parquet, Arrow, .xlsx, .npy, a folder, or - for standard input"):
    """Where rows come from, and how text is read."""
    parser.add_argument("input", help=what)
    reading = parser.add_argument_group("reading text")
    reading.add_argument("--delimiter", type=delimiter, help="one character or 'tab' (found if not given)")
    reading.add_argument("--encoding", help="for example utf-8 or latin-1 (found if not given)")
    reading.add_argument(
        "--decimal", choices=[".", ","], metavar="MARK", help="the decimal mark, . or , (found if not given)"
    )
    reading.add_argument("--thousands", metavar="MARK", help="the mark between thousands, such as , or .")
    reading.add_argument(
        "--na", type=listed, default=[], metavar="A,B", help="cells that stand for missing values, too"
    )
    reading.add_argument("--header", choices=["yes", "no"], help="whether the first line holds names (found)")


def add_columns(parser):
    """Which columns are used, and how."""
    columns = parser.add_argument_group("columns")
    columns.add_argument(
        "--columns", type=names, metavar="A,B", help="use only these columns (default: all but text and ids)"
    )
    columns.add_argument("--drop", type=names, default=[], metavar="A,B", help="leave these columns out")
    _add_prepare(columns.add_mutually_exclusive_group())
    columns.add_argument("--categories", type=names, metavar="A,B", help="columns whose values are categories")
    columns.add_argument("--fold-levels", action="store_true", help="App, app and 'App ' are one level")
    columns.add_argument("--weights", type=weights, default={}, metavar="A=2,B=.5", help="how much columns count")
    columns.add_argument(
        "--missing",
        choices=["error", "drop", "mean", "nearest"],
        help="missing values: an error, leave the rows out, fill in means, or take them from the nearest row (default: "
        "nearest where columns are encoded, else error)",
    )


def _add_prepare(group):
    """What is done with columns: the parameter ``prepare`` of :func:`kfree.cluster`, None if nothing is asked for."""
    group.add_argument(
        "--encode",
        dest="prepare",
        action="store_const",
        const="encode",
        help="make numbers, dates, categories and missing values comparable (the default, but for .npy files, "
        "directions and places)",
    )
    group.add_argument(
        "--standardize",
        dest="prepare",
        action="store_const",
        const="standardize",
        help="scale columns of numbers to mean 0 and deviation 1, and leave others out",
    )
    group.add_argument(
        "--no-encode",
        dest="prepare",
        action="store_const",
        const="none",
        help="use columns of numbers as they are, and leave others out",
    )


def add_output(parser, what="the input with a column 'cluster'", by_default="INPUT.clusters.csv"):
    """Where results go."""
    output = parser.add_argument_group("output")
    output.add_argument("-o", "--output", help=f"{what} (default: {by_default}; - for standard output)")
    output.add_argument(
        "--format", choices=["csv", "parquet", "jsonl", "xlsx"], help="of the output (default: by its ending)"
    )
    output.add_argument(
        "--safe-cells", action="store_true", help="put ' before cells that a spreadsheet would take for formulas"
    )
    add_printing(output)


def add_scores(parser):
    """How certain labels are."""
    parser.add_argument("--scores", action="store_true", help="write confidence and outlier_score of rows, too")


def add_report(parser):
    """A page about the result."""
    parser.add_argument("--report", metavar="PAGE.html", help="write a page to explore the clusters in a browser")


def add_printing(parser):
    """What is printed."""
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")


def add_computing(parser):
    """How it is computed."""
    parser.add_argument("--threads", type=whole, metavar="N", help="threads to use (default: all)")
    parser.add_argument("--seed", type=int, metavar="N", help="seed of what is random (default: a fixed one)")


def _number(text):
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
