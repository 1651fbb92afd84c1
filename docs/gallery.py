"""Write the table of reached figures into the gallery's page, and reduced pictures beside it.

`python docs/gallery.py FOLDER`, with a folder that `primad examples run --all --out FOLDER` filled. What stands between
the two marks of `docs/gallery.md` is replaced; what was not run, or at toy size only, is said to be missing.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from PIL import Image

from primad.cli.gallery import GalleryExample, examples

HERE = Path(__file__).resolve().parent
BEGIN, END = "<!-- table -->\n", "<!-- end of table -->\n"


def short(value: float) -> str:
    """Return a figure with two digits, or as a whole number where that reads better."""
    return f"{value:.0f}" if 10 <= abs(value) < 1e5 else f"{value:.2g}"


def figures(record: dict) -> str:
    """Return what was reached, with the limit where it was missed."""
    missed = set(record["missed"])
    return ", ".join(
        f"**{name} {short(value)}** (missed)" if name in missed else f"{name} {short(value)}"
        for name, value in record["figures"].items()
    )


def row(example: GalleryExample, record: dict | None) -> str:
    """Return the row of an example."""
    said = example.said
    reached = "not run" if record is None else figures(record)
    seed = "" if record is None or "seed" not in record else f"{record['seed']}"
    cells = (
        f"[{example.name}](#{example.name.replace('_', '-')})",
        reached,
        said.get("Reach", ""),
        said.get("Published", ""),
        seed,
    )
    return "| " + " | ".join(cell.replace("|", "∣") for cell in cells) + " |\n"


def section(example: GalleryExample, record: dict | None, picture: bool) -> str:
    """Return what follows the table for an example: what it is, and its picture."""
    name = example.name
    shown = f"![{example.title}](pictures/gallery/{name}.png)\n\n" if picture else ""
    return f"### {name}\n\n{example.title}. Reference: {example.said['Reference']}\n\n{shown}"


def reduce(source: Path, target: Path, limit: int = 40_000) -> None:
    """Write a picture with a palette, and as small as it takes to stay below a number of bytes."""
    picture, width = Image.open(source).convert("RGB"), 800
    while True:
        size = (width, round(picture.height * width / picture.width))
        picture.resize(size, Image.Resampling.LANCZOS).quantize(128).save(target, optimize=True)
        written = target.stat().st_size
        if written <= limit:
            return
        width = int(width * min(0.9, (limit / written) ** 0.5))


def history(runs: list[str]) -> str:
    """Return how many runs the records are of, which are known by when they began."""
    begun = " and ".join(run[:16] for run in runs) or "never"
    count = "one run" if len(runs) == 1 else f"{len(runs)} runs into one folder"
    return f"All figures are of {count}, of one command, begun {begun} UTC."


def page(folder: Path) -> str:
    """Return what belongs between the marks; reduce the pictures."""
    found, records = examples(), {}
    pictures = HERE / "pictures" / "gallery"
    pictures.mkdir(parents=True, exist_ok=True)
    for name in found:
        path = folder / f"{name}.json"
        record = json.loads(path.read_text()) if path.exists() else None
        records[name] = record if record and not record["toy"] and not record["interrupted"] else None
        if records[name] and (folder / f"{name}.png").exists():  # there is none of what could not be drawn
            reduce(folder / f"{name}.png", pictures / f"{name}.png")
    ran = [record["machine"] for record in records.values() if record]
    machines = sorted({f"{machine['processor']}, {machine['processors']} processors" for machine in ran})
    text = f"{history(sorted({record['run'] for record in records.values() if record}))} "
    text += f"Machine: {'; '.join(machines) or 'none yet'}. "
    text += "Seconds are those of the whole example, first calls included.\n\n"
    text += "| example | reached | should reach | published | seed |\n|---|---|---|---|---|\n"
    text += "".join(row(found[name], records[name]) for name in found) + "\n"
    return text + "".join(section(found[name], records[name], (pictures / f"{name}.png").exists()) for name in found)


def main() -> None:
    """Replace what stands between the marks."""
    path = HERE / "gallery.md"
    before, rest = path.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    path.write_text(before + BEGIN + "\n" + page(Path(sys.argv[1])) + END + after, encoding="utf-8")


if __name__ == "__main__":
    main()
