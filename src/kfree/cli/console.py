"""What a command prints: results to standard output, remarks to standard error."""

import json
import math
import sys

from kfree.core.printing import ISOLATES, printable

# What an estimator says of columns that the preparation names already.
_IDENTIFIERS, _LIKE_IDENTIFIERS = "another whole number in every row", "a different whole number in nearly every row"


class Console:
    """Prints according to ``--quiet`` and ``--json``."""

    def __init__(self, options):
        self._quiet = getattr(options, "quiet", False)
        self._json = getattr(options, "json", False)
        self.remarks = []
        # Where labels go to standard output, the summary does not.
        self.output_is_data = False
        # Names of the columns that an estimator knows by number, and whether they were encoded.
        self.columns, self.encoded = [], False
        # A line about the progress, on a terminal.
        self.progress = None
        # A folder that no message names: that of a copy of standard input.
        self.hidden = None

    def clean(self, text):
        """A text without control characters and hidden folders."""
        return printable(text if self.hidden is None else text.replace(f"{self.hidden}/", ""), keep=f"\n{ISOLATES}")

    def say(self, text):
        """A remark or a warning."""
        from kfree.cli.advice import in_options

        text = self.clean(in_options(text))
        self.remarks.append(text)
        if not self._quiet:
            self._clear()
            print(f"kfree: {text}", file=sys.stderr)

    def warn(self, text):
        """A warning of an estimator."""
        from kfree.cli.advice import in_terms_of_the_table

        if _IDENTIFIERS in text and any(_LIKE_IDENTIFIERS in remark for remark in self.remarks):
            return  # said already, with the option that leaves them out
        self.say(f"warning: {in_terms_of_the_table(text, self.columns, self.encoded)}")

    def begins(self, step):
        """A step of the command begins."""
        if self.progress is None:
            return
        self.progress.begins(step)
        if step == "writing" and self.output_is_data:  # to the same terminal, perhaps
            self.progress.end()

    def _clear(self):
        if self.progress is not None:
            self.progress.clear()

    def report(self, text, facts):
        """The result: ``text`` for a person, or ``facts`` as JSON."""
        self._clear()
        stream = sys.stderr if self.output_is_data else sys.stdout
        if self._json:
            facts = finite(facts | {"remarks": self.remarks})
            text = json.dumps(facts, ensure_ascii=False, indent=2)
            is_safe = printable(text, keep=f"\n{ISOLATES}") == text == _encodable(text, stream)
            print(text if is_safe else json.dumps(facts, indent=2), file=stream)
        elif not self._quiet:
            print(_encodable(self.clean(text), stream), file=stream)


def _encodable(text, stream):
    """A text without characters that the encoding of a stream lacks, such as the minus sign in that of Windows."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.replace("−", "-").encode(encoding, "backslashreplace").decode(encoding)
    return text


def finite(value):
    """A value for JSON: None for numbers that are not finite, plain numbers for those of NumPy."""
    if isinstance(value, dict):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    if hasattr(value, "tolist"):
        return finite(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
