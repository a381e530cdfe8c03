"""Our CEL beside Kubernetes' own: `python -m tests.kubernetes_cel [--seed N] [--count N] [COMMAND…]`.

Generated expressions over generated objects, answered by both: what the checker accepts, the
deduced type, the value with its types, errors and the cost. COMMAND answers lines of JSON; by
default it is the test control plane's own binary (tests/cluster), built where it is not there.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from rulesengine import cel
from rulesengine.core.errors import EvaluationError
from tests.cluster import plane as planes
from tests.conformance import decoded, same
from tests.expressions import Generator

# Refused there and allowed in rules: literals with items of several types, null as one branch of ?:.
# Found here when it is evaluated: whether values fit a format string, lists as keys.
ALLOWED = re.compile(
    r"expected type|applied to '\((?:bool|dyn), (null, .*|.*, null)\)'|error during formatting"
    r"|invalid qualifier type"
)
# Values there that the specification does not have: maps whose keys are null or lists.
NO_KEYS = "unsupported key type"
# Overloads are chosen by static types there, by the values here: what is refused for a type that the
# value does not have is computed here.
STATIC = re.compile(r"no such overload: \w")


@dataclass(frozen=True)
class Difference:
    """What the two say of one expression."""

    expression: str
    names: dict[str, Any]
    what: str
    ours: str
    theirs: str

    def __str__(self) -> str:
        head = f"{self.what}: {self.expression}\n    ours   {self.ours}\n    theirs {self.theirs}"
        return f"{head}\n    with   {json.dumps(self.names)}"


def requests(seed: int, count: int) -> Iterator[dict[str, Any]]:
    """Expressions with values for their names."""
    generator = Generator(random.Random(seed))
    for _ in range(count):
        yield {"expr": generator.expression(), "vars": generator.names()}


def asked(command: list[str], lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What Kubernetes answers. Where its own code panics (it does), the answer is {"panic": …}."""
    found: list[dict[str, Any]] = []
    while len(found) < len(lines):
        text = "".join(json.dumps(line) + "\n" for line in lines[len(found) :])
        run = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        found += [json.loads(line) for line in run.stdout.splitlines()]
        if len(found) < len(lines):
            if "panic:" not in run.stderr:
                raise RuntimeError(run.stderr)
            found.append({"panic": run.stderr.splitlines()[0]})
    return found


def difference(request: dict[str, Any], theirs: dict[str, Any]) -> Difference | None:
    """None where both say the same, or where they are meant not to."""
    names = request["vars"]

    def differ(what: str, ours: object, other: object) -> Difference:
        return Difference(request["expr"], names, what, str(ours), str(other))

    refused = theirs.get("stage") in ("compile", "program")
    try:
        program = cel.compile(request["expr"], cel.Env(dict.fromkeys(names, cel.types.DYN)))
    except cel.CompileError as error:
        return None if refused else differ("refused by us", error, theirs)
    if refused:
        allowed = ALLOWED.search(theirs["error"])
        return None if allowed else differ("refused by them", program.type, theirs["error"])
    if program.type != cel.types.parse(theirs["type"]):
        return differ("type", program.type, theirs["type"])
    return _evaluated(program, names, theirs, differ)


def _evaluated(
    program: cel.Program,
    names: dict[str, Any],
    theirs: dict[str, Any],
    differ: Callable[[str, object, object], Difference],
) -> Difference | None:
    try:
        value, cost = program.measure(names)
    except EvaluationError as error:
        meant = "error" in theirs or str(error) == NO_KEYS
        return None if meant else differ("error", error, theirs)
    if "error" in theirs:
        return None if STATIC.match(theirs["error"]) else differ("no error", value, theirs["error"])
    expected = answer(theirs)
    if "format(" in program.text and type(value) is type(expected):
        return (
            None  # lists in texts are quoted in Kubernetes' version of format(), not in the specification's
        )
    if not same(value, expected) and not same(expected, value):
        return differ("value", value, expected)
    if cost != theirs["cost"]:
        return differ("cost", cost, theirs["cost"])
    quick = program.evaluate(names)
    return None if same(quick, expected) else differ("value of the fast tier", quick, expected)


def answer(theirs: dict[str, Any]) -> Any:
    """The value of an answer."""
    if theirs["k"] == "optional":
        return cel.values.Optional(answer(theirs["v"])) if "v" in theirs else cel.values.NONE
    if theirs["k"] == "list":
        return [answer(each) for each in theirs["v"]]
    if theirs["k"] == "map":
        return {answer(key): answer(each) for key, each in theirs["v"]}
    return decoded(theirs)


def reference() -> list[str]:
    """The command of Kubernetes' CEL."""
    return [str(planes.build()), "cel"]


def differences(command: list[str], seed: int, count: int) -> list[Difference]:
    """Every expression of a seed on which the two do not agree."""
    lines = list(requests(seed, count))
    pairs = zip(lines, asked(command, lines), strict=True)
    found = (difference(line, theirs) for line, theirs in pairs if "panic" not in theirs)
    return [each for each in found if each is not None]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--show", type=int, default=20)
    parser.add_argument("command", nargs="*", default=None)
    given = parser.parse_args()
    found = differences(given.command or reference(), given.seed, given.count)
    for each in found[: given.show]:
        print(each)
    print(f"seed {given.seed}: {given.count} expressions, {len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
