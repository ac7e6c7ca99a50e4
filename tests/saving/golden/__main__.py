"""Write the golden files of the present format: ``python -m tests.saving.golden``.

Files of a format that was released are never written again; every later version reads them.
"""

import json

import kfree
from tests.saving.golden.expected import EXPECTED, PRESENT, outcome, path_of
from tests.saving.models import CASES


def write():
    PRESENT.mkdir(exist_ok=True)
    expected = {}
    for name, (fit, _) in CASES.items():
        fit().save(path_of(name))
        expected[name] = outcome(kfree.load(path_of(name)), name)
    (PRESENT / EXPECTED).write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    write()
