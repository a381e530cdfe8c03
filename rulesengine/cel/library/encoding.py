"""base64 of cel-go's encoders extension."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from rulesengine.cel.library.registry import bad, enter, function, want


@function("base64.decode", "bytes")
def decode(text: Any) -> bytes:
    """Standard alphabet, padding optional."""
    bare = want(text, str).rstrip("=")
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise bad("the text is not base64") from None


enter("base64.encode", lambda data: base64.b64encode(want(data, bytes)).decode(), "string")
