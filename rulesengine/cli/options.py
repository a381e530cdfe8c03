"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Kubeconfig = Annotated[
    Path | None,
    typer.Option(
        help="Kubeconfig file. Default: $KUBECONFIG, in-cluster, ~/.kube/config.", show_default=False
    ),
]
Context = Annotated[
    str | None, typer.Option(help="Context of the kubeconfig. Default: its current one.", show_default=False)
]
Schemas = Annotated[
    list[str] | None,
    typer.Option(help="CRD files or folders: kinds that the rules may name.", show_default=False),
]
EngineNamespace = Annotated[
    str, typer.Option("--namespace", help="The engine's own namespace; holds its owner key.")
]
