"""``python -m kfree`` is the command ``kfree``, for where scripts are not on the path."""

import sys

from kfree.cli import main

if __name__ == "__main__":
    sys.exit(main())
