"""Draws the pictures of the gallery: runs the code of each page, or of those named, and saves its figure."""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent


def names_of(page):
    """What the code blocks of a page define."""
    names = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL):
        exec(block, names)
    return names


def main():
    wanted = sys.argv[1:] or [page.stem for page in sorted(HERE.glob("*.md")) if page.stem != "index"]
    for name in wanted:
        names_of(HERE / f"{name}.md")["figure"].savefig(HERE / f"{name}.png", dpi=100)


if __name__ == "__main__":
    main()
