"""The command ``kfree``. Modules that take time to import are imported by the command that needs them."""

import argparse
import os
import re
import sys
import warnings
from contextlib import contextmanager, nullcontext
from difflib import get_close_matches
from functools import cache
from importlib import import_module

import kfree
from kfree.cli.console import Console
from kfree.cli.errors import CommandError, UsageError

COMMANDS = ["cluster", "levels", "path", "predict", "stream", "hdp", "graph", "tree", "demo"]
_EXAMPLES = """examples:
  kfree cluster data.csv                          find clusters, write data.clusters.csv, print a summary
  kfree cluster data.csv --report report.html --save model.kfree
  kfree predict model.kfree new.csv               the clusters of further rows
  kfree path data.csv --plot path.png             how many clusters are best for every penalty

exit status: 0 success, 1 a fault of the data or the files, 2 a fault of the command line"""


def main(arguments=None):
    """Run the command line."""
    parser = _parser()
    options = parser.parse_args(arguments)
    console = Console(options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = lambda message, *_, **__: console.warn(str(message))
        try:
            with _progress_of(options, console), _input_of(options, console):
                options.run(options, console)
        except UsageError as error:
            options.parser.error(console.clean(str(error)))
        except BrokenPipeError:
            # The reader of standard output has gone; the interpreter would fail on it once more when it ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            parser.exit(1)
        except KeyboardInterrupt:
            parser.exit(130, "kfree: interrupted\n")
        except MemoryError:
            parser.exit(1, "kfree: out of memory; use kfree cluster --memory 1GB, or fewer columns.\n")
        except OSError as error:
            fault = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"
            text = str(error) if error.filename is None else f"{error.filename} {fault}."
            parser.exit(1, f"kfree: {console.clean(text)}\n")
        except (CommandError, ImportError, ValueError, TypeError) as error:
            from kfree.cli.advice import in_options

            parser.exit(1, f"kfree: {console.clean(in_options(str(error)))}\n")


class Parser(argparse.ArgumentParser):
    """A parser whose errors suggest what may have been meant."""

    def error(self, message):
        """Print an error and end with status 2."""
        given = re.findall(r"--[\w-]+|(?<=invalid choice: ')[\w-]+", message)
        words = self.words()
        # An option that exists is seldom another one: --weights may be --weight, and --threads is not --header.
        close = ((word, 0.9 if word in words else 0.7) for word in given)
        meant = [near[0] for word, share in close if (near := get_close_matches(word, words - {word}, 1, share))]
        super().error(message + (f"; did you mean {' '.join(meant)}?" if meant else ""))

    def words(self):
        """Options and commands."""
        found = {option for action in self._actions for option in action.option_strings if option.startswith("--")}
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                found |= set(action.choices)
                found = found.union(*(parser.words() for parser in action.choices.values()))
        return found


def _input_of(options, console):
    """What makes the input readable more than once, where a command reads a table."""
    if not hasattr(options, "input") or options.run.__module__.endswith(".stream"):
        return nullcontext()
    from kfree.cli.tables import readable_input

    return readable_input(options, console)


@contextmanager
def _progress_of(options, console):
    """The line about the progress, where a command reads a table and standard error is a terminal."""
    is_stream = options.run.__module__.endswith(".stream")
    if not hasattr(options, "input") or is_stream or getattr(options, "quiet", False) or not sys.stderr.isatty():
        yield
        return
    from kfree.cli.progress import Progress
    from kfree.core.progress import heard_by

    asked = [step for step, option in (("page", "report"), ("picture", "plot")) if getattr(options, option, None)]
    console.progress = Progress(sys.stderr, ["starting", "reading", "preparing", "clustering", "writing", *asked])
    with console.progress, heard_by(console.progress.hear):
        yield


@cache
def _parser():
    parser = Parser(
        prog="kfree",
        description="Clustering when k is unknown.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"kfree {kfree.__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")
    for name in COMMANDS:
        module = import_module(f"kfree.cli.commands.{name}")
        command = commands.add_parser(name, help=module.HELP, description=module.__doc__)
        module.add_options(command)
        command.set_defaults(run=module.run, parser=command)
    return parser
