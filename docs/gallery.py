"""Write the gallery's two pages from records: the overview with thumbnails, and the figures of every example.

`python docs/gallery.py FOLDER`, with a folder that `primad examples run --all --out FOLDER` filled. What stands between
the two marks of `docs/gallery.md` and of `docs/gallery_figures.md` is replaced, and the pictures are written again. The
page names what was not run, or at toy size only.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
from PIL import Image

from primad.cli.gallery import GalleryExample, examples

HERE = Path(__file__).resolve().parent
BEGIN, END = "<!-- begin -->\n", "<!-- end -->\n"
CODE = "../scientific_examples"
WIDTH, THUMBNAIL = 1440, (320, 240)
"""Widths and heights in pixels: pictures are as wide as the page on a dense screen, thumbnails a quarter of that."""

TOPICS = {
    "Statics and potentials": "poisson_2d corner pinnacle_poisson_holes helmholtz clamped_plate beam twisted_bar "
    "notch_stress",
    "Delays and memory": "delayed_logistic toxic_population",
    "Heat, diffusion and waves": "heat_and_wave pinnacle_heat_multiscale pinnacle_heat_varying pinnacle_wave kdv "
    "schroedinger black_scholes reaction_diffusion_operator burgers_operator",
    "Flow": "cavity kovasznay burgers parametric_burgers pinnacle_burgers_2d shock_tube",
    "Patterns and chaos": "allen_cahn gray_scott pinnacle_gray_scott kuramoto_sivashinsky pinnacle_ks",
    "Inverse problems and fits": "inverse_conductivity pinnacle_inverse_heat seismic_inversion source_location "
    "kdv_identify lorenz lotka_volterra reaction_diffusion laplace_logistic eight_schools survival chirp",
    "Light and signals": "fibre_pulse waveguide_bend grating double_star filter_design",
    "Derivatives in physics and chemistry": "derivatives curvature gibbs_surface helium lennard_jones lambert_w "
    "quantum_gate",
    "Stiff systems and steady states": "robertson reaction_network brusselator continuation",
    "Optima under constraints": "optimal_control power_flow topology_optimisation",
    "Many dimensions": "poisson_5d pinnacle_poisson_5d biharmonic_5d sine_gordon",
    "Devices and many processes": "burgers_jax burgers_mpi",
}
"""The sections of the overview, and the examples of each."""


def short(value: float) -> str:
    """Return a figure with two digits, or as a whole number where that reads better."""
    return f"{value:.0f}" if 10 <= abs(value) < 1e5 else f"{value:.2g}"


def figures(example: GalleryExample, record: dict | None) -> str:
    """Return what was reached, with the limit that was declared, and which of them was missed."""
    if record is None:
        return "not run"
    limits, parts = dict(re.findall(r"(\w+) ([0-9.e+-]+)", example.said.get("Reach", ""))), []
    for name, value in record["figures"].items():
        limit = f" (at most {limits[name]})" if name in limits else ""
        text = f"{name} {short(value)}"
        parts.append(f"**{text}**, missed{limit}" if name in record["missed"] else f"{text}{limit}")
    return "; ".join(parts)


def first_gap(light: np.ndarray, least: int, gap: int) -> int:
    """Return the middle of the first white gap with a panel of a size on either side, or the whole length.

    Args:
        light: the darkest pixel of each row or column.
        least: how long a panel is at least; what is shorter is a title, a label or a colour bar.
        gap: how wide a gap is at least; letters have narrower ones between them.
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], light > 250, [False]]).astype(int))).reshape(-1, 2)
    inner = [
        (begin + end) // 2
        for begin, end in edges
        if least <= begin and end <= len(light) - least and end - begin >= gap
    ]
    return inner[0] if inner else len(light)


def panel(picture: Image.Image) -> Image.Image:
    """Return the first panel of a picture: of several rows the upper one, and the left one of that."""
    grey = np.asarray(picture.convert("L"))
    height = first_gap(grey.min(axis=1), picture.height // 5, picture.height // 100)
    width = first_gap(grey[:height].min(axis=0), round(0.7 * height), height // 50)
    return picture.crop((0, 0, width, height))


def reduce(source: Path, folder: Path) -> None:
    """Write a picture in full colour and of one width, and its first panel as a thumbnail."""
    with Image.open(source) as opened:
        picture = opened.convert("RGB")
    large = picture.resize((WIDTH, round(picture.height * WIDTH / picture.width)), Image.Resampling.LANCZOS)
    large.save(folder / f"{source.stem}.webp", quality=82, method=6)
    small, thumbnail = panel(picture), Image.new("RGB", THUMBNAIL, "white")
    scale = min(THUMBNAIL[0] / small.width, THUMBNAIL[1] / small.height)
    small = small.resize((round(scale * small.width), round(scale * small.height)), Image.Resampling.LANCZOS)
    thumbnail.paste(small, ((THUMBNAIL[0] - small.width) // 2, (THUMBNAIL[1] - small.height) // 2))
    (folder / "thumbnails").mkdir(exist_ok=True)
    thumbnail.save(folder / "thumbnails" / f"{source.stem}.webp", quality=82, method=6)


def card(example: GalleryExample) -> str:
    """Return the item of an example in the overview: its thumbnail, what it is, and its code."""
    name, figures = example.name, f"gallery_figures.md#{example.name}"
    shown = HERE / "pictures" / "gallery" / "thumbnails" / f"{name}.webp"
    picture = f"[![{name}](pictures/gallery/thumbnails/{name}.webp)]({figures})\n  " if shown.exists() else ""
    title = example.title.partition(":")[0].partition(" (")[0]
    return f"- {picture}[{title}]({figures}) ([code]({CODE}/{name}.py))\n"


def overview(found: dict[str, GalleryExample]) -> str:
    """Return the sections of the overview; an example without a topic is an error."""
    named = [name for names in TOPICS.values() for name in names.split()]
    if sorted(named) != sorted(found):
        raise SystemExit(f"TOPICS has to name each example once: {sorted(set(named) ^ set(found))}")
    text = ""
    for topic, names in TOPICS.items():
        cards = "".join(card(found[name]) for name in names.split())
        text += f'## {topic}\n\n<div class="gallery">\n\n{cards}\n</div>\n\n'
    return text


def section(example: GalleryExample, record: dict | None) -> str:
    """Return the section of an example: its picture, what was reached, and with what it is compared."""
    name, shown = example.name, HERE / "pictures" / "gallery" / f"{example.name}.webp"
    text = f"## {name}\n\n{example.title}.\n\n"
    if shown.exists():
        text += f"![{example.title}](pictures/gallery/{name}.webp)\n\n"
    seed = f", seed {record['seed']}" if record and "seed" in record else ""
    text += f"- Reached: {figures(example, record)}.\n"
    text += f"- Reference: {example.said['Reference'].rstrip('.')}.\n"
    if "Published" in example.said:
        text += f"- Published: {example.said['Published'].rstrip('.')}.\n"
    return f"{text}- Code: [{name}.py]({CODE}/{name}.py){seed}.\n\n"


def history(records: list[dict]) -> str:
    """Return how many runs the records are of, which are known by when they began, and on which machine."""
    runs = sorted({record["run"] for record in records})
    *others, last = [run[:16] for run in runs] or ["never"]
    begun = f"{', '.join(others)} and {last}" if others else last
    count = "one run" if len(runs) == 1 else f"{len(runs)} runs into one folder"
    machines = {f"{each['machine']['processor']}, {each['machine']['processors']} processors" for each in records}
    text = f"All figures are of {count}, of one command, begun {begun} UTC. "
    text += f"Machine: {'; '.join(sorted(machines)) or 'none yet'}. "
    return f"{text}Seconds are those of the whole example, first calls included.\n\n"


def pages(folder: Path) -> dict[str, str]:
    """Return what belongs between the marks of each page; write the pictures."""
    found, records = examples(), {}
    pictures = HERE / "pictures" / "gallery"
    pictures.mkdir(parents=True, exist_ok=True)
    for name in found:
        path = folder / f"{name}.json"
        record = json.loads(path.read_text()) if path.exists() else None
        records[name] = record if record and not record["toy"] and not record["interrupted"] else None
        if records[name] and (folder / f"{name}.png").exists():  # there is none of what could not be drawn
            reduce(folder / f"{name}.png", pictures)
    sections = "".join(section(found[name], records[name]) for name in found)
    return {
        "gallery.md": overview(found),
        "gallery_figures.md": history([record for record in records.values() if record]) + sections,
    }


def main() -> None:
    """Replace what stands between the marks of the pages."""
    for name, text in pages(Path(sys.argv[1])).items():
        path = HERE / name
        before, rest = path.read_text(encoding="utf-8").split(BEGIN)
        after = rest.split(END)[1]
        path.write_text(f"{before}{BEGIN}\n{text}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
