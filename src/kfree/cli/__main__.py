"""``python -m kfree.cli`` is the command ``kfree``."""

from kfree.cli import main

if __name__ == "__main__":
    main()
