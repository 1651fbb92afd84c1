"""Print the lowest versions that pyproject.toml allows, as pip's constraints: `name>=1.2,<2` becomes `name==1.2`."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
extras = project["optional-dependencies"]
for requirement in [*project["dependencies"], *extras["plot"], *extras["mesh"], *extras["mpi"], *extras["test"]]:
    wanted, _, marker = requirement.partition(";")
    if "[" in wanted:  # primad itself, with another extra
        continue
    match = re.fullmatch(r"([\w.-]+)>=([\w.]+),<[\w.]+", wanted.strip())
    if match is None:
        raise SystemExit(f"no lower and upper bound in {requirement!r}")
    print(f"{match[1]}=={match[2]}" + (f"; {marker.strip()}" if marker else ""))
