"""What carries requests to an API server: over HTTP, or to the embedded one in this process.

Bytes go in and bytes come out. A transport knows nothing of kinds, retries or errors of the
API: every answer is handed back with its status, and only the absence of an answer is raised
(`Unreachable`). This narrowness is what lets tests script a server in a dozen lines.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Response:
    """One answer, read to its end. Names in `headers` are lower case or compare so."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Streaming:
    """An answer that goes on. `lines` are without their line ends and of any length.

    With a status of 300 or more the lines are the body of an error. The iteration ends when
    the server ends the answer, and raises Unreachable when the connection breaks or nothing
    came for the idle time.
    """

    status: int
    headers: Mapping[str, str]
    lines: AsyncIterator[bytes]


class Transport(Protocol):
    """`path` is absolute and percent-encoded, with its query. Both raise Unreachable only.

    `seconds` is the time a request may take, to the last byte of its answer.
    """

    @property
    def server(self) -> str:
        """The address, for people."""
        ...

    async def request(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, seconds: float
    ) -> Response: ...

    def stream(
        self, method: str, path: str, headers: Mapping[str, str], idle: float
    ) -> AbstractAsyncContextManager[Streaming]:
        """Opens a long answer; `idle` is how many seconds may pass without a byte."""
        ...

    async def close(self) -> None: ...


async def split_lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The lines of a byte stream. A line may span any number of chunks; empty ones are left out."""
    parts: list[bytes] = []
    async for chunk in chunks:
        lines = chunk.split(b"\n")
        last = lines.pop()
        if lines and parts:
            parts.append(lines[0])
            lines[0] = b"".join(parts)
            parts.clear()
        if last:
            parts.append(last)
        for line in lines:
            if line:
                yield line
    if parts:
        yield b"".join(parts)
