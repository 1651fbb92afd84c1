"""The `primad` command: examples, explanations, proofs, random tests, and what is kept between processes."""

from __future__ import annotations

import fnmatch
import itertools
from pathlib import Path
from typing import Annotated

import typer

from primad.errors import suggestion

app = typer.Typer(
    name="primad",
    help="primad: a derivative compiler for scientific Python.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


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


examples_app = typer.Typer(help="Run the scientific examples, or list them.", no_args_is_help=True)
app.add_typer(examples_app, name="examples")


@examples_app.command("list")
def list_examples() -> None:
    """List the examples."""
    from primad.cli.gallery import examples

    found = examples()
    width = max(map(len, found), default=0)
    for name, example in found.items():
        typer.echo(f"{name:<{width}}  {example.title}")


def _examples_that_begin(incomplete: str) -> list[str]:
    """Return what a shell completes the name of an example to."""
    from primad.cli.gallery import examples

    return [name for name in examples() if name.startswith(incomplete)]


@examples_app.command("run")
def run_examples_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Which examples to run; 'b*' for all that begin so.",
            show_default=False,
            autocompletion=_examples_that_begin,
        ),
    ] = None,
    all_of_them: Annotated[bool, typer.Option("--all", help="Run all of them.")] = False,
    toy: Annotated[bool, typer.Option("--toy", help="Run at toy size: seconds each, and rough results.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for a picture and a record of each.")] = Path("examples_out"),
    seed: Annotated[int, typer.Option(help="Seed of what is drawn at random.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Leave out what the folder has from before.")] = False,
) -> None:
    """Run examples; write a picture and a record of each to a folder, and print a line of figures each."""
    from primad.cli.gallery import examples, run_examples

    available = examples()
    if bool(names) == all_of_them:
        typer.echo("examples run: give names of examples, or --all.\n  Fix: primad examples list shows them.", err=True)
        raise typer.Exit(2)
    found = {name: fnmatch.filter(available, name) for name in names or available}
    for name, matching in found.items():
        if not matching:
            near = suggestion(name, available)
            listed = f"There is no example {name!r}; there are {', '.join(available) or 'none'}."
            typer.echo(f"{listed} {near.capitalize()}".rstrip(), err=True)
            raise typer.Exit(2)
    chosen = [available[name] for name in dict.fromkeys(itertools.chain(*found.values()))]
    raise typer.Exit(run_examples(chosen, out, toy, seed, resume))


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
    from primad.explanation.explain_command import explain_command

    raise typer.Exit(explain_command(target, list(arguments or []), output, typer.echo))


def _names_that_begin(incomplete: str) -> list[str]:
    """Return what a shell completes the name of an op or a law to."""
    from primad.verify.checker import known_names

    return [name for name in known_names() if name.startswith(incomplete) and " " not in name]


def _list_names(wanted: bool) -> None:
    if wanted:
        from primad.verify.checker import known_names

        typer.echo("\n".join(known_names()))
        raise typer.Exit


@app.command()
def verify(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Ops, composites or laws; without names, all.", show_default=False, autocompletion=_names_that_begin
        ),
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", callback=_list_names, is_eager=True, help="Print all names and exit.")
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            min=1,
            help="How many processes; by default one for names, and one for each processor for all.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Prove the rules of every op and every law with SymPy, and print the table. Exit 1 if anything fails."""
    from primad.system.machine import processors
    from primad.verify.verify_commands import verify_command

    raise typer.Exit(verify_command(list(names or []), jobs or (1 if names else processors())))


@app.command()
def fuzz(
    n: Annotated[int, typer.Option("-n", min=1, help="How many random programs.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the first program; the others count up from it.")] = 0,
) -> None:
    """Check the derivatives of random programs against high-precision differences. Exit 1 if any is wrong."""
    from primad.verify.verify_commands import fuzz_command

    raise typer.Exit(fuzz_command(n, seed))


@app.command()
def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove all that is kept.")] = False,
) -> None:
    """Show what is kept between processes (machine code, so that a second start compiles nothing), or remove it."""
    from primad.system.disk_cache import LARGEST, disk_cache
    from primad.system.quantities import several, size

    kept = disk_cache()
    if kept is None:
        typer.echo("Nothing is kept: PRIMAD_CACHE turns it off, or this system has no folders that are safe for it.")
        return
    typer.echo(str(kept.path))
    if kept.refused:
        typer.echo(f"Not used: {kept.refused}.")
        raise typer.Exit(1)
    if clear:
        kept.clear()
    typer.echo(f"{several(kept.count, 'file')}, {size(kept.size)} of {size(LARGEST)} at most")


def main() -> None:
    """Run the command line."""
    app()
