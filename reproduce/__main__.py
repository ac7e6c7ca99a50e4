"""``python -m reproduce list | data | map | all | report | name …``: run experiments, or list them and their data."""

import argparse
import difflib
import math
import sys
import time
from pathlib import Path

from reproduce import data
from reproduce import map as map_of_texts
from reproduce.cells import CLOCK
from reproduce.experiments import EXPERIMENTS
from reproduce.report import write_report
from reproduce.result import keep
from reproduce.table import as_text

HERE = Path(__file__).parent
REPORT = HERE.parent / "docs" / "reproduction.md"


def main(arguments=None):
    """Run the command line; returns the exit status."""
    options = _parser().parse_args(arguments)
    names = options.names or ["list"]
    if names == ["list"]:
        print(*(f"{name:26} {experiment.about}" for name, experiment in EXPERIMENTS.items()), sep="\n")
        return 0
    if names == ["data"]:
        print(data.listing(EXPERIMENTS))
        return 0
    if names == ["map"]:
        map_of_texts.PAGE.write_text(map_of_texts.page(), encoding="utf-8")
        print(f"Written: {map_of_texts.PAGE}")
        return 0
    if names == ["report"]:
        print(f"Written: {write_report(options.out, options.report)}")
        return 0
    everything = "all" in names
    try:
        chosen = list(EXPERIMENTS) if everything else [found for name in names for found in matching(name)]
    except LookupError as error:
        _parser().error(str(error))
    # One name is run as published unless --quick is given; everything together only with --full.
    size = "quick" if options.quick or (everything and not options.full) else "full"
    not_run = {}
    CLOCK.start(options.minutes, options.again)
    for name in chosen:
        try:
            refuse_to_fetch(name, options.fetch)
            run(name, options.out, size)
        except FileNotFoundError as error:
            not_run[name] = str(error)
            print(f"\n{name} was not run. {error}", flush=True)
    if everything:
        print(f"\nWritten: {write_report(options.out, options.report)}")
    if not_run:
        print("\nNot run:", *(f"  {name}: {why}" for name, why in not_run.items()), sep="\n", file=sys.stderr)
    return 1 if not_run else 0


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m reproduce", description="Published tables and figures beside kfree's numbers."
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="name",
        help="list, data, map, all, report, an experiment, or a paper for all of its experiments",
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="reduced sizes, minutes in all (default for all)")
    size.add_argument("--full", action="store_true", help="as published (default for named experiments)")
    parser.add_argument(
        "--minutes",
        type=_minutes,
        default=math.inf,
        help="start no further part of a long table after this time; what is kept is shown, a later run goes on",
    )
    parser.add_argument(
        "--again",
        type=_share,
        default=1.0,
        metavar="SHARE",
        help="of the kept cells of earlier code, make only this share again, drawn at random; 0 makes what is missing",
    )
    parser.add_argument("--fetch", action="store_true", help="download data sets that are not at hand")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="folder for CSV and PNG files")
    parser.add_argument("--report", type=Path, default=REPORT, help="the page that all and report write")
    return parser


def _minutes(text):
    minutes = float(text)
    if not minutes > 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of minutes > 0")
    return minutes


def _share(text):
    share = float(text)
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share between 0 and 1")
    return share


def matching(name):
    """An experiment by its name, or all experiments of a paper."""
    if name in ("list", "data", "map", "report"):
        raise LookupError(f"{name!r} stands alone, without other names.")
    name = name.replace("_", "-")
    found = [known for known in EXPERIMENTS if name in (known, known.split("/")[0])]
    if not found:
        guess = difflib.get_close_matches(name, EXPERIMENTS, n=1)
        hint = f"; did you mean {guess[0]!r}" if guess else ""
        raise LookupError(f"there is no experiment {name!r}{hint}. Known are: {', '.join(EXPERIMENTS)}.")
    return found


def refuse_to_fetch(name, may_fetch):
    """Raise FileNotFoundError if an experiment needs data that are not at hand, unless they may be fetched."""
    if may_fetch or not (absent := data.to_fetch(EXPERIMENTS[name].data)):
        return
    offers = "; ".join(f"{one}, offered by {data.NEEDS[one].offered}" for one in absent)
    raise FileNotFoundError(
        f"It needs data that are not at hand: {offers}. Add --fetch to download what OpenML or scikit-learn offer, or "
        "set KFREE_DATA to a folder that holds the files (python -m reproduce data)."
    )


def run(name, folder, size):
    """Run one experiment, print its table and keep it as CSV and PNG."""
    print(f"\n{name} ({size}): {EXPERIMENTS[name].about}\n", flush=True)
    CLOCK.forget()
    started = time.process_time()
    result = EXPERIMENTS[name].run(size == "quick")
    seconds = time.process_time() - started
    if CLOCK.n_left_out:
        print(f"Not made in this run: {CLOCK.n_left_out} parts of this table.\n")
        size = "part"
    print(as_text(result.lines))
    again = {"made_again": CLOCK.n_again, "same": CLOCK.n_same} if CLOCK.n_again else {}
    print("\nAlso in", *keep(result, folder, name, size, EXPERIMENTS[name].run, **again))
    print(f"{seconds:.0f} s of processor time", flush=True)


if __name__ == "__main__":
    sys.exit(main())
