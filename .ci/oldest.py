"""Constraints for pip: of every package that pyproject.toml names, the oldest version that it allows."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
wanted = [*project["dependencies"], *(name for names in project["optional-dependencies"].values() for name in names)]
for requirement in wanted:
    if found := re.fullmatch(r"([\w-]+)(\[.*\])?>=([\d.]+)", requirement):
        print(f"{found[1]}=={found[3]}")
