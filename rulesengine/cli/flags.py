"""One flag for each setting of the table, so that `run --help` says what the reference says."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, Literal

import typer

from rulesengine.core.settings import TABLE, Setting

SHORT = {"verbose": ("-v",)}


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """`command` takes `settings`, which becomes a flag for each row; it gets those that were given."""
    signature = inspect.signature(command, eval_str=True)
    own = [p for name, p in signature.parameters.items() if name != "settings"]
    only = inspect.Parameter.KEYWORD_ONLY
    flags = [inspect.Parameter(row.field, only, default=None, annotation=_annotation(row)) for row in TABLE]

    @wraps(command)
    def called(**arguments: Any) -> None:
        given = {row.field: arguments.pop(row.field) for row in TABLE}
        command(**arguments, settings={name: value for name, value in given.items() if value is not None})

    parameters = [p.replace(kind=only) for p in own] + flags
    vars(called).pop("__wrapped__")  # or the signature of what was wrapped would count
    vars(called)["__signature__"] = signature.replace(parameters=parameters)
    called.__annotations__ = {p.name: p.annotation for p in parameters}
    return called


def _annotation(row: Setting) -> Any:
    text = f"{row.what} Default: {row.shown}. {row.why}"
    kind: Any = Literal[row.choices] if row.choices else row.type
    names = [f"--{row.name}/--no-{row.name}" if row.type is bool else f"--{row.name}"]
    short = SHORT.get(row.name, ())
    option = typer.Option(*short, *names, help=text, show_default=False, min=row.least, max=row.most)
    return Annotated[kind | None, option]
