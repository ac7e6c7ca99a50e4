"""``python -m reproduce [name …]``: run experiments, or list them."""

import argparse
import difflib
from pathlib import Path

from reproduce.experiments import EXPERIMENTS
from reproduce.table import as_text, write_csv


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m reproduce", description="Published tables beside kfree's numbers.")
    parser.add_argument("names", nargs="*", metavar="name", help="an experiment, or a paper for all of its experiments")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results", help="folder for the CSV files")
    options = parser.parse_args(arguments)
    if not options.names:
        print("Give one of these names, or a part before the slash:\n")
        print(*(f"  {name:20} {experiment.about}" for name, experiment in EXPERIMENTS.items()), sep="\n")
        return
    try:
        chosen = [found for name in options.names for found in matching(name)]
    except LookupError as error:
        parser.error(str(error))
    for name in chosen:
        run(name, options.out)


def matching(name):
    """An experiment by its name, or all experiments of a paper."""
    found = [known for known in EXPERIMENTS if name in (known, known.split("/")[0])]
    if not found:
        guess = difflib.get_close_matches(name, EXPERIMENTS, n=1)
        hint = f"; did you mean {guess[0]!r}" if guess else ""
        raise LookupError(f"there is no experiment {name!r}{hint}. Known are: {', '.join(EXPERIMENTS)}.")
    return found


def run(name, folder):
    """Run one experiment, print its table and keep it as CSV."""
    print(f"\n{name}: {EXPERIMENTS[name].about}\n", flush=True)
    lines = EXPERIMENTS[name].run()
    print(as_text(lines))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name.replace('/', '-')}.csv"
    write_csv(lines, path)
    print(f"\nAlso in {path}")


if __name__ == "__main__":
    main()
