"""`spec.variables`: each may use those before it, and nothing else of its kind."""

from __future__ import annotations

from rulesengine import cel
from rulesengine.api import nearest
from rulesengine.compiler.draft import Code, Draft
from rulesengine.compiler.expressions import expression
from rulesengine.compiler.names import with_variables


def run(draft: Draft) -> None:
    """Fills `variables` with programs, `closures` with what each reads, and their types."""
    all_names = [variable.name for variable in draft.model.spec.variables]
    for index, variable in enumerate(draft.model.spec.variables):
        path = ("spec", "variables", index, "expression")
        # Later ones are declared, too (of any type): using one is then this pass's finding,
        # which can say what to do, and not an unknown field.
        types = {**dict.fromkeys(all_names, cel.types.DYN), **draft.variable_types}
        code = expression(draft, variable.expression, path, with_variables(draft.names, types))
        if code is None:
            draft.variable_types[variable.name] = cel.types.DYN
            draft.closures[variable.name] = frozenset()
            continue
        _check(draft, code, variable.name, all_names[:index], all_names)
        draft.variables[variable.name] = code
        draft.variable_types[variable.name] = code.program.type
        draft.closures[variable.name] = draft.reads(code.program)
    draft.names = with_variables(draft.names, draft.variable_types)


def _check(draft: Draft, code: Code, name: str, earlier: list[str], all_names: list[str]) -> None:
    for read in sorted(used(code)):
        if read in earlier or read not in all_names:
            continue
        at, length = place(code, "variables", read)
        if read == name:
            message, hint = f"variable {name} uses itself", "use another name for one of them"
        else:
            message = f"variable {read} stands after {name}"
            hint = f"move {read} before {name}"
        draft.find("RE322", message, code.path, hint, offset=at, length=length)


def used(code: Code) -> set[str]:
    """The names of the variables that an expression uses."""
    return {path[1] for path in code.program.reads if path[0] == "variables" and len(path) > 1}


def place(code: Code, root: str, name: str) -> tuple[int, int]:
    """Where in the value the expression says `root.name`: offset and length."""
    text = code.program.text
    for spelled in (f"{root}.{name}", f"{root}.?{name}", f"{root}['{name}']", f'{root}["{name}"]', root):
        at = text.find(spelled)
        if at >= 0:
            return code.offset + at, len(spelled)
    return code.offset, 1


def unknown_variable(draft: Draft, code: Code, name: str) -> None:
    """A finding about a name that no variable has."""
    at, length = place(code, "variables", name)
    hint = nearest(name, draft.variable_types)
    draft.find("RE321", f"there is no variable {name}", code.path, hint, offset=at, length=length)
