"""The `primad` command: demos, proofs and random tests."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Annotated

import typer

from primad.errors import suggestion

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


_PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


@app.command(context_settings=_PASSED_ON)
def demo(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Which demo; without it, list them.", show_default=False)] = None,
) -> None:
    """Run a demo by name, or list them. What follows the name goes to the demo: try NAME --help."""
    available = demos()
    if name in (None, "--help"):
        typer.echo("primad demo NAME [OPTIONS] runs one of:")
        for title, path in available.items():
            typer.echo(f"  {title:<14}{_summary(path)}")
        return
    if name not in available:
        near = suggestion(name, available)
        listed = f"There is no demo {name!r}; there are {', '.join(available) or 'none'}."
        typer.echo(f"{listed} {near.capitalize()}".rstrip(), err=True)
        raise typer.Exit(2)
    script = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    script.command()(runpy.run_path(str(available[name]))["main"])
    script(context.args, prog_name=f"primad demo {name}")


@app.command()
def explain(
    target: Annotated[
        str,
        typer.Argument(
            metavar="FILE:FUNCTION",
            help="A function in a Python file, which is run for it (but not what stands below `if __name__ == ...`).",
            show_default=False,
        ),
    ],
    arguments: Annotated[
        list[str] | None,
        typer.Option(
            "--arg",
            "-a",
            metavar="TYPE|NUMBER",
            help="An argument of the function, in order: a type such as f64[1000,3], whose array is filled with "
            "numbers from 0 to 1 (integers with 0), or a number.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--svg",
            "-o",
            metavar="PICTURE",
            help="Write the picture there too; .html has the report with it, .txt the report alone.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show what primad does with a function: what the laws save, the plan, the predicted and the measured time."""
    from primad.explanation.commands import explain_command

    raise typer.Exit(explain_command(target, list(arguments or []), output, typer.echo))


@app.command()
def verify(
    names: Annotated[
        list[str] | None, typer.Argument(help="Ops, composites or laws; without names, all.", show_default=False)
    ] = None,
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
