"""The command line's entry: names of commands and options, and the one place errors end.

Commands import what they need when they run, so that `--help` stays quick. Whatever is
raised on purpose becomes one message and an exit code; a traceback is a bug.
"""

from __future__ import annotations

import os
import sys
import traceback
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rulesengine import __version__
from rulesengine.cli import installing
from rulesengine.cli.flags import with_settings
from rulesengine.cli.options import Context, EngineNamespace, Kubeconfig, Schemas
from rulesengine.core.errors import FindingsError, RulesEngineError, UsageError
from rulesengine.core.settings import Value

OK, FINDINGS, USAGE, INTERRUPTED = 0, 1, 2, 130


class Output(StrEnum):
    TEXT = "text"
    JSON = "json"
    YAML = "yaml"


class Drawing(StrEnum):
    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"
    SVG = "svg"


class CaseOutput(StrEnum):
    TEXT = "text"
    JSON = "json"
    YAML = "yaml"
    JUNIT = "junit"


app = typer.Typer(
    name="rulesengine",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Declarative reconcile rules for Kubernetes: for every object that looks like this, "
    "these other objects shall exist.",
)

Files = Annotated[
    list[str],
    typer.Argument(help="Rule files, folders of them, or - for standard input.", show_default=False),
]
Out = Annotated[Output, typer.Option("-o", "--output", help="How to print.")]


def _version(show: bool) -> None:
    if show:
        typer.echo(f"rulesengine {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options before the command."""


@app.command()
@with_settings
def run(
    settings: dict[str, Value],
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    config: Annotated[
        Path | None,
        typer.Option(
            help="YAML file with settings, named as the flags below without the dashes in front; "
            "a flag wins over the file.",
            show_default=False,
        ),
    ] = None,
    embedded: Annotated[
        bool, typer.Option("--embedded", help="Against an API server in this process, for trying.")
    ] = False,
    file: Annotated[
        list[str] | None,
        typer.Option("-f", "--file", help="With --embedded: objects and rules to apply first."),
    ] = None,
) -> None:
    """Run the engine until it is told to stop (SIGTERM or Ctrl-C)."""
    from rulesengine.cli.run import Options, run_engine

    options = Options(kubeconfig, context, config, embedded, tuple(file or ()), settings)
    raise typer.Exit(run_engine(options))


@app.command()
def serve(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 takes a free one.")] = 0,
    write_kubeconfig: Annotated[
        Path, typer.Option("--write-kubeconfig", help="Where to write the kubeconfig.")
    ] = Path("rulesengine.kubeconfig"),
    file: Annotated[
        list[str] | None, typer.Option("-f", "--file", help="Objects and rules to apply first.")
    ] = None,
) -> None:
    """Serve the embedded Kubernetes API alone, for kubectl and tests. Its data is in memory."""
    from rulesengine.cli.serve import serve_api

    raise typer.Exit(serve_api(port, write_kubeconfig, tuple(file or ())))


@app.command()
def check(
    files: Files,
    output: Out = Output.TEXT,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    cluster: Annotated[
        bool, typer.Option("--cluster", help="Use the cluster's schemas (implied by --context).")
    ] = False,
    schemas: Schemas = None,
) -> None:
    """Find mistakes in rules: syntax, names, types, cycles. Exit 0 ok, 1 findings, 2 usage."""
    from rulesengine.cli.check import check_files

    use_cluster = cluster or context is not None or kubeconfig is not None
    where = (kubeconfig, context) if use_cluster else None
    raise typer.Exit(check_files(files, output.value, where, tuple(schemas or ())))


@app.command()
def diff(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Rule files, folders, - , or clusterrule/NAME, rule/NAMESPACE/NAME in the cluster."
        ),
    ],
    output: Out = Output.TEXT,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    namespace: EngineNamespace = "rulesengine-system",
    state: Annotated[
        list[str] | None,
        typer.Option(help="Files with objects: answer from them, without a cluster."),
    ] = None,
) -> None:
    """Show what rules would change. Exit 0 nothing, 1 differences, above 1 an error."""
    from rulesengine.cli.diff import Where, diff_files

    where = Where(kubeconfig, context, namespace, tuple(state) if state else None)
    raise typer.Exit(diff_files(files, output.value, where))


@app.command("test")
def play_cases(
    paths: Annotated[
        list[str],
        typer.Argument(
            help="Case files, and folders that have some below them (rules/).", show_default=False
        ),
    ],
    output: Annotated[CaseOutput, typer.Option("-o", "--output", help="How to print.")] = CaseOutput.TEXT,
    pattern: Annotated[
        str, typer.Option("-k", help="Only cases with this text in their file's name.", show_default=False)
    ] = "",
    update: Annotated[
        bool, typer.Option("--update", help="Write what came out into the files. Read the difference!")
    ] = False,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    whole_cluster: Annotated[
        bool,
        typer.Option("--whole-cluster", help="With --context: cases may change anything in it."),
    ] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Show the log of the engines.")] = False,
) -> None:
    """Play cases: rules, a state, steps, and what shall be. Exit 0 all hold, 1 some do not, 2 usage."""
    from rulesengine.cli.cases import Options, play_paths

    options = Options(
        pattern=pattern,
        output=output.value,
        update=update,
        kubeconfig=kubeconfig,
        context=context,
        whole_cluster=whole_cluster,
        verbose=verbose,
    )
    raise typer.Exit(play_paths(paths, options))


@app.command()
def render(
    files: Files,
    objects: Annotated[
        list[str], typer.Option("--object", help="Files with the objects to render for.", show_default=False)
    ],
    state: Annotated[
        list[str] | None,
        typer.Option(help="Files with what else is there: CRDs, what lookups find.", show_default=False),
    ] = None,
    output: Out = Output.TEXT,
) -> None:
    """Print the resources that rules yield for objects in files. Exit 1 if some cannot be known."""
    from rulesengine.cli.render import render_files

    raise typer.Exit(render_files(files, objects, tuple(state or ()), output.value))


@app.command()
def status(
    rules: Annotated[
        list[str] | None,
        typer.Argument(
            help="clusterrule/NAME, rule/NAMESPACE/NAME or NAME. Default: all.", show_default=False
        ),
    ] = None,
    output: Out = Output.TEXT,
    every_source: Annotated[
        bool, typer.Option("--all", help="Each source, too: worked out here, with your own rights.")
    ] = False,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    namespace: EngineNamespace = "rulesengine-system",
) -> None:
    """Show how far rules are and what keeps them from being ready. Exit 1 if one is not ready."""
    from rulesengine.cli.status import Options, show_status

    options = Options(
        names=tuple(rules or ()),
        output=output.value,
        every_source=every_source,
        kubeconfig=kubeconfig,
        context=context,
        namespace=namespace,
    )
    raise typer.Exit(show_status(options))


@app.command()
def orphans(
    output: Out = Output.TEXT,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Take the engine's stamp off: they are yours from then on.")
    ] = False,
    delete: Annotated[
        bool, typer.Option("--delete", help="Delete those that are proven to be the engine's.")
    ] = False,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    namespace: EngineNamespace = "rulesengine-system",
) -> None:
    """List objects whose rule or source is gone, and why they were left."""
    from rulesengine.cli.orphans import Options, show_orphans

    options = Options(
        output=output.value,
        adopt=adopt,
        delete=delete,
        kubeconfig=kubeconfig,
        context=context,
        namespace=namespace,
    )
    raise typer.Exit(show_orphans(options))


@app.command()
def graph(
    files: Files,
    output: Annotated[Drawing, typer.Option("-o", "--output", help="How to draw.")] = Drawing.TEXT,
    schemas: Schemas = None,
) -> None:
    """Draw what rules read and write, the order between resources, and loops. Exit 1 on a loop."""
    from rulesengine.cli.graph import draw

    raise typer.Exit(draw(files, output.value, tuple(schemas or ())))


@app.command()
def crds() -> None:
    """Print the CustomResourceDefinitions, for kubectl apply -f -."""
    from rulesengine.cli.crds import print_crds

    print_crds()


@app.command()
def demo() -> None:
    """Show the main job in a minute, on an API server in this process."""
    from rulesengine.cli.demo import run_demo

    raise typer.Exit(run_demo())


app.command()(installing.install)
app.command()(installing.uninstall)


def main() -> None:
    """Runs the program; the exit code is all that leaves."""
    sys.exit(_guarded())


def _guarded() -> int:
    try:
        app(prog_name=Path(sys.argv[0]).name)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else USAGE
    except FindingsError as error:
        for finding in error.findings:
            print(finding.render(), file=sys.stderr)
        return FINDINGS
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return USAGE
    except RulesEngineError as error:
        print(f"error: {error}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output left, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except Exception as error:
        if os.environ.get("RULESENGINE_TRACEBACK"):
            raise
        # the message of an unexpected error may hold values of objects: its kind and place do not
        at = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(at.filename).name}:{at.lineno}"
        print(f"error: unexpected {type(error).__name__} at {place}; this is a bug.", file=sys.stderr)
        print("Set RULESENGINE_TRACEBACK=1 to see all of it, and report it.", file=sys.stderr)
        return USAGE
    return OK


if __name__ == "__main__":
    main()
