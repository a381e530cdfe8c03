"""The commands `install` and `uninstall`, as the command line has them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rulesengine import __version__
from rulesengine.cli.options import Context, EngineNamespace, Kubeconfig, Schemas
from rulesengine.core.errors import UsageError


def install(
    files: Annotated[
        list[str] | None,
        typer.Argument(help="Rule files or folders: the engine gets the rights that these rules need."),
    ] = None,
    namespace: EngineNamespace = "rulesengine-system",
    image: Annotated[str, typer.Option(help="Image of the engine; see Containerfile.")] = (
        f"rulesengine:{__version__}"
    ),
    replicas: Annotated[int, typer.Option(min=1, help="One is at work, the others stand by.")] = 2,
    schemas: Schemas = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    kustomize: Annotated[
        Path | None, typer.Option(help="Write a Kustomize base to this folder.", show_default=False)
    ] = None,
    helm: Annotated[
        Path | None, typer.Option(help="Write a Helm chart to this folder.", show_default=False)
    ] = None,
) -> None:
    """Print all that runs an engine in a cluster, for kubectl apply --server-side -f -."""
    from rulesengine.cli.install import Wish
    from rulesengine.cli.install import install as install_all

    cluster = (kubeconfig, context) if kubeconfig is not None or context is not None else None
    wish = Wish(
        tuple(files or ()), namespace, image, replicas, tuple(schemas or ()), cluster, kustomize, helm
    )
    raise typer.Exit(install_all(wish))


def uninstall(
    keep: Annotated[bool, typer.Option("--keep", help="What rules made is released and stays.")] = False,
    prune: Annotated[bool, typer.Option("--prune", help="What rules made is removed with them.")] = False,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds that rules may take to go.")] = 120.0,
    namespace: EngineNamespace = "rulesengine-system",
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Take rules and engine off a cluster. Needs a running engine, which cleans up after the rules."""
    from rulesengine.cli.uninstall import Wish
    from rulesengine.cli.uninstall import uninstall as uninstall_all

    if keep == prune:
        raise UsageError("say what becomes of what rules made: exactly one of --keep and --prune")
    raise typer.Exit(uninstall_all(Wish(keep, namespace, timeout, kubeconfig, context)))
