"""The CEL specification's tests: `python -m tests.conformance [FILE]` prints one line per file.

The data is given beside the project and not part of it: FILE, $CEL_CONFORMANCE, or
../shared/cel/conformance.json. A value counts with its type; an error counts where the test
expects one, unless it is that of an unknown function or of our own parser's limits.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rulesengine import cel
from rulesengine.cel.signatures import Overload
from rulesengine.cel.values import Duration, Optional, Timestamp, TypeValue, UInt
from rulesengine.core.errors import EvaluationError

REFUSALS = frozenset({"RE203", "RE204", "RE207"})  # an error that is found before evaluation is one, too
UNKNOWN = re.compile("undeclared|unknown function")
LEFT_OUT = "block_ext"  # an optimizer's inner form, not part of the language
SECOND = 10**9


@dataclass(frozen=True)
class Answer:
    """`problem` is "" when the test holds."""

    file: str
    name: str
    expression: str
    problem: str


def default_file() -> Path:
    given = os.environ.get("CEL_CONFORMANCE")
    return Path(given) if given else Path(__file__).parents[2] / "shared/cel/conformance.json"


def answers(file: Path) -> Iterator[Answer]:
    """What becomes of every test."""
    for name, tests in json.loads(file.read_text()).items():
        if not name.startswith(LEFT_OUT):
            for test in tests:
                yield Answer(name, f"{test['section']}/{test['name']}", test["expr"], problem_of(test))


def problem_of(test: dict[str, Any]) -> str:
    """Why a test does not hold, "" when it does."""
    wanted = test.get("expect", {})
    names = {name: decoded(value) for name, value in test.get("bindings", {}).items()}
    env = environment(test, names)
    checks = not test.get("disable_check")
    try:
        program = cel.compile(test["expr"], env, check=checks)
        if checks and "expect_type" in test and program.type != cel.types.parse(test["expect_type"]):
            return f"type {program.type} in place of {test['expect_type']}"
        if test.get("check_only"):
            return ""
        value = program.evaluate(names)
    except cel.CompileError as error:
        refused = wanted.get("k") == "error" and all(p.code in REFUSALS for p in error.problems)
        return "" if refused else f"refused: {error}"
    except EvaluationError as error:
        return "" if wanted.get("k") == "error" and not UNKNOWN.search(str(error)) else f"error: {error}"
    if wanted.get("k") == "error":
        return f"a value of type {type(value).__name__} in place of an error"
    return "" if same(value, decoded(wanted)) else f"{value!r} in place of {wanted['v']!r}"


def environment(test: dict[str, Any], names: dict[str, Any]) -> cel.Env:
    """The declarations of a test; what is only bound is dyn."""
    declared = dict.fromkeys(names, cel.types.DYN)
    functions: list[Overload] = []
    for each in test.get("type_env", ()):
        if "type" in each:
            declared[each["name"]] = cel.types.parse(each["type"])
        for one in each.get("function", ()):
            params = tuple(map(cel.types.parse, one["params"]))
            result = cel.types.parse(one["result"])
            functions.append(Overload(each["name"], one["member"], params, result))
    return cel.Env(declared, test.get("container", ""), tuple(functions))


def decoded(value: dict[str, Any]) -> Any:
    """A value of the data file as ours."""
    kind: str = value["k"]
    raw: Any = value.get("v")
    match kind:
        case "null":
            return None
        case "bool":
            return raw in (True, "true")
        case "int":
            return int(raw)
        case "uint":
            return UInt(int(raw))
        case "double":
            return float(raw)
        case "bytes":
            return bytes.fromhex(raw)
        case "list":
            return [decoded(each) for each in raw]
        case "map":
            return {decoded(key): decoded(each) for key, each in raw}
        case "type":
            return TypeValue(raw)
        case "timestamp" | "duration":
            ns = int(raw[0]) * SECOND + int(raw[1])
            return Timestamp(ns) if kind == "timestamp" else Duration(ns)
        case _:
            return raw


def same(left: Any, right: Any) -> bool:
    """Equality with types, at any depth; NaN is NaN."""
    if type(left) is not type(right):
        return False
    if isinstance(left, Optional):
        return left.has == right.has and same(left.value, right.value)
    if isinstance(left, float):
        return left == right or (math.isnan(left) and math.isnan(right))
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        pairs = [(key, value) for key, value in right.items()]
        return len(left) == len(right) and all(
            any(same(key, k) and same(value, v) for k, v in pairs) for key, value in left.items()
        )
    return bool(left == right)


def main(arguments: list[str]) -> int:
    file = Path(arguments[0]) if arguments else default_file()
    if not file.exists():
        print(f"{file}: no such file; give the specification's tests as an argument", file=sys.stderr)
        return 2
    counts: dict[str, list[int]] = {}
    for answer in answers(file):
        counts.setdefault(answer.file, [0, 0])[bool(answer.problem)] += 1
        if answer.problem and "-v" in arguments:
            print(f"  {answer.file} {answer.name}: {answer.expression}: {answer.problem}")
    for name, (passed, failed) in counts.items():
        print(f"{name}: {passed} passed, {failed} failed")
    passed, failed = (sum(each) for each in zip(*counts.values(), strict=True))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
