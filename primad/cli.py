"""The `primad` command: demos, proofs and random tests."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="primad",
    help="primad: a derivative compiler for scientific Python.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def demos() -> dict[str, Path]:
    """Return the demos by name: those installed with the package, or in a checkout those beside it."""
    package = Path(__file__).resolve().parent
    for folder in (package / "demos", package.parent / "scientific_examples"):
        if folder.is_dir():
            return {path.stem: path for path in sorted(folder.glob("*.py")) if not path.stem.startswith("_")}
    return {}


def _summary(path: Path) -> str:
    """Return the first line of a script's docstring."""
    return path.read_text(encoding="utf-8").lstrip().removeprefix('"""').splitlines()[0].strip('" ')


def _version(wanted: bool) -> None:
    if wanted:
        from primad import __version__

        typer.echo(f"primad {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Hold the options of the command itself."""


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []})
def demo(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Which demo; without it, list them.")] = None,
) -> None:
    """Run a demo by name, or list them. What follows the name goes to the demo: try NAME --help."""
    available = demos()
    if name in (None, "--help"):
        typer.echo("primad demo NAME [OPTIONS] runs one of:")
        for title, path in available.items():
            typer.echo(f"  {title:<14}{_summary(path)}")
        return
    if name not in available:
        typer.echo(f"There is no demo {name!r}; there are {', '.join(available) or 'none'}.", err=True)
        raise typer.Exit(2)
    sys.argv = [f"primad demo {name}", *context.args]
    runpy.run_path(str(available[name]), run_name="__main__")


@app.command()
def verify(
    names: Annotated[list[str] | None, typer.Argument(help="Ops, composites or laws; without names, all.")] = None,
) -> None:
    """Prove the rules of every op and every law with SymPy, and print the table. Exit 1 if anything fails."""
    from primad.verify.commands import verify_command

    raise typer.Exit(verify_command(list(names or [])))


@app.command()
def fuzz(
    n: Annotated[int, typer.Option("-n", min=1, help="How many random programs.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the first program; the others count up from it.")] = 0,
) -> None:
    """Check the derivatives of random programs against high-precision differences. Exit 1 if any is wrong."""
    from primad.verify.commands import fuzz_command

    raise typer.Exit(fuzz_command(n, seed))


def main() -> None:
    """Run the command line."""
    app()
