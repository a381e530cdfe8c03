"""The fast tier: an expression as one plain Python function, where that says the same.

It does what is usual (keys that are there, types that fit) with the least work, and raises
on everything else; then the exact tier runs, which is sound since expressions are pure.
Only `repr` of literals and names of our own enter the source. What the exact tier would
charge is bounded from above, so that nothing runs here that is over the budget there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from rulesengine.cel.check import Checked
from rulesengine.cel.costs import LIMIT
from rulesengine.cel.inline import GLOBALS, Unusual
from rulesengine.cel.source import NotFast, Writer

__all__ = ["Unusual", "compiled"]


Run: TypeAlias = Callable[[Mapping[str, Any]], Any]


def compiled(checked: Checked) -> tuple[Run | None, int | None]:
    """The function, or None for an expression that has no fast form.

    And what evaluation costs at most, where that does not depend on values.
    """
    try:
        writer = Writer(checked)
        source = writer.whole(LIMIT)
        code = compile(source, "<cel>", "exec")
    except (NotFast, RecursionError, MemoryError, SyntaxError, OverflowError):  # also: too deep for Python
        return None, None
    scope = {**GLOBALS, **writer.constants}
    exec(code, scope)  # noqa: S102 - our own source, see the module
    return scope["evaluate"], writer.bound
