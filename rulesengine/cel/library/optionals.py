"""Optional values. or() and orValue() are evaluated lazily, by the exact tier itself."""

from __future__ import annotations

from typing import Any

from rulesengine.cel.library.registry import bad, enter, function, want
from rulesengine.cel.values import NONE, Optional, UInt

enter("optional.of", Optional, "optional")
enter("optional.none", lambda: NONE, "optional")


@function("optional.ofNonZeroValue")
def of_non_zero(value: Any) -> Optional:
    zero = value is None or value is False or value in ("", b"", 0, 0.0) or value in ([], {})
    return NONE if zero or (type(value) is UInt and value.value == 0) else Optional(value)


@function(".hasValue", "bool")
def has_value(value: Any) -> bool:
    return want(value, Optional).has  # type: ignore[no-any-return]


@function(".value")
def value_of(value: Any) -> Any:
    if not want(value, Optional).has:
        raise bad("optional.none() dereference")
    return value.value


@function("optional.unwrap", "list")
@function(".unwrapOpt", "list")
def unwrap(values: Any) -> list[Any]:
    """What is there of a list of optionals."""
    return [each.value for each in want(values, list) if want(each, Optional).has]
