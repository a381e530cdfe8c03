"""Opening a client over HTTP; the libraries that need it are imported only then."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rulesengine.client.client import Client

CONNECTIONS = 32


async def connect(
    kubeconfig: str | Path | None = None,
    context: str | None = None,
    *,
    connections: int = CONNECTIONS,
    fence: Callable[[], float] | None = None,
) -> Client:
    """A client for the cluster of --kubeconfig, $KUBECONFIG, the pod, or ~/.kube/config.

    `fence` is asked right before each write: how many seconds it may take; it raises NotLeading
    where none may be sent. Nothing is sent yet. Raises UsageError when no usable access is found.
    Close the client.
    """
    # importing kubernetes and aiohttp takes 0.5 s, which `--help` and `check` need not wait for
    from rulesengine.client.access import find_login  # noqa: PLC0415
    from rulesengine.client.http import HTTPTransport  # noqa: PLC0415

    return Client(await HTTPTransport.open(find_login(kubeconfig, context), connections, fence))
