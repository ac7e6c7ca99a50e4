"""Text of others, such as names of columns and files, made safe to print."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from html import escape

# Control characters, marks that change the direction of text, surrogates, and separators of lines and paragraphs.
_UNSAFE = frozenset(["Cc", "Cf", "Cs", "Zl", "Zp"])
# Around text whose direction is its own (first strong isolate, pop directional isolate).
ISOLATES = "\u2068\u2069"
# No characters, and not allowed in XML.
_NONCHARACTERS = "\ufffe\uffff"


def printable(text: object, keep: str = "") -> str:
    """The same text with control characters as ``\\x1b``, so that no name can command a terminal.

    Examples
    --------
    >>> from kfree.core.printing import printable
    >>> print(printable("income\\x1b[31m\\n"))
    income\\x1b[31m\\n
    """
    text = str(text)
    if text.isascii() and text.isprintable():
        return text
    unsafe = {sign for sign in set(text) if sign not in keep and unicodedata.category(sign) in _UNSAFE}
    unsafe |= set(text) & set(_NONCHARACTERS)
    return "".join(sign.encode("unicode_escape").decode() if sign in unsafe else sign for sign in text)


def isolated(text: object) -> str:
    """A printable name for a sentence: one with letters from right to left does not turn what stands around it.

    Examples
    --------
    >>> from kfree.core.printing import isolated
    >>> isolated("plan\\n"), isolated("\u05d2\u05d9\u05dc")
    ('plan\\\\n', '\\u2068\u05d2\u05d9\u05dc\\u2069')
    """
    name = printable(text)
    turns = not name.isascii() and any(unicodedata.bidirectional(sign) in ("R", "AL", "AN") for sign in name)
    return f"{ISOLATES[0]}{name}{ISOLATES[1]}" if turns else name


def html_table(header: Sequence[str], rows: Iterable[Sequence[str]], caption: str) -> str:
    """A table for a notebook; texts are escaped.

    Examples
    --------
    >>> from kfree.core.printing import html_table
    >>> html_table(["k"], [["<3"]], "Steps")
    '<table><caption>Steps</caption><thead><tr><th>k</th></tr></thead><tbody><tr><td>&lt;3</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def quoted(names: Iterable[object], most: int = 8) -> str:
    """Names for a message: quoted, and only the first few of many.

    Examples
    --------
    >>> from kfree.core.printing import quoted
    >>> quoted(["a", "b", 3], most=2)
    "'a', 'b' and 1 more"
    """
    return first_few([repr(name) for name in names], most)


def columns_in_words(columns: Iterable[int], names: Sequence[object] | None) -> str:
    """Some columns for a message, by number where they have no names, and only the first few of many."""
    return first_few([f"column {j}" if names is None else f"column {names[j]!r}" for j in columns])


def first_few(texts: Sequence[str], most: int = 8) -> str:
    """Texts for a message, separated by commas, and only the first few of many."""
    return ", ".join(texts[:most]) + (f" and {len(texts) - most} more" if len(texts) > most else "")
