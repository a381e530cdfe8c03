"""What evaluation costs. The numbers are those that Kubernetes 1.37 prints for the same."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from rulesengine import cel
from rulesengine.cel.costs import LIMIT
from rulesengine.core.errors import EvaluationError

OBJECT: dict[str, Any] = {
    "o": {
        "a": [1, 2],
        "m": {"k": 1, "j": 2},
        "s": "hello",
        "t": True,
        "i": 3,
        "k": "k",
        "ts": "2020-01-01T00:00:00Z",
    },
    "x": 1,
    "l": [1, 2, 3],
    "e": [],
}
ENV = cel.Env(dict.fromkeys(OBJECT, cel.types.DYN))


KNOWN = """
   1  x
   3  o.m.k
   3  o['m'].k
   4  o.m[o.k]
   2  l[x]
   4  l[x-1]
   2  [1,2,3][x]
  33  {'a':x}.a
   2  {'a':1}.a
   2  has(o.m.k)
   1  has(o.q)
   1  true ? o.i : x
   4  o.t ? o.m.k : x
   4  o.t ? x+1 : x
   4  (o.t ? o.m : o).k
   3  !o.t
   4  o.t && o.t
   2  o.t || o.t
   3  o.s == 'hello'
   3  l == l
  17  l.all(i, i > 0)
   9  l.all(i, i > 1)
  20  l.exists(i, i > 2)
  11  l.exists(i, i > 0)
  11  l.exists_one(i, i > 2)
  34  l.filter(i, i > 1)
  41  l.map(i, i)
  34  l.map(i, i > 1, i)
   2  e.map(i, i)
   3  e.exists_one(i, i > 1)
   8  l.map(i, 1)
  20  l.all(i, j, i < j)
  47  l.map(i, o.m.k)
  14  l.transformMap(i, j, j)
  16  l.transformMap(i, j, j > 1, j)
  47  l.sortBy(e, -e)
  71  o.m.transformMapEntry(k, v, {v: k})
 174  l.map(i, {'a': i}).map(j, j.a)
   2  o.?i
   3  o.?m.?k
   1  o.?q.?k
   2  o.?q.orValue(x)
   9  o.?i.optMap(v, v + 1)
   4  o.?i.optMap(v, 1)
   3  o.?q.optMap(v, v + 1)
   8  o.?m.optFlatMap(v, v.?k)
  12  [?o.?i]
  32  {?'a': o.?i}
   3  x in l
   1  x in [1,2,3]
   0  x in []
   1  1 + 2
   5  o.s + o.s
   3  type(x) == int
   0  int
  11  [x]
   0  [1, 2]
  31  {1: x}
   0  timestamp('2020-01-01T00:00:00Z')
  14  lists.range(3)
   4  optional.of(o).?i
   6  'abcdefghijklmnopqrstuvwxyz'.contains('abcdefghijklmnop')
   3  'abc' + string(x)
   3  o.s.matches('h.*')
  29  [3,1,2].sort()
   2  l.sort()
  30  l.distinct()
   4  l.sum()
   3  o.s.upperAscii()
  12  '%s'.format([x])
   5  sets.contains(l, [1])
   2  o.s.indexOf('l')
"""


@pytest.mark.parametrize("line", KNOWN.strip().splitlines())
def test_cost_is_kubernetes_cost(line: str) -> None:
    """Unit for unit."""
    cost, _, text = line.strip().partition("  ")
    assert cel.compile(text, ENV).measure(OBJECT)[1] == int(cost)


@pytest.mark.parametrize(
    "text",
    [
        "l.all(a, l.all(b, l.all(c, a + b + c >= 0)))",
        "l.map(a, l.map(b, l.map(c, a)))",
        "l.exists(a, l.exists(b, l.exists(c, a in l && b in l && c > 5000))) || true",
        "size(s + s + s + s + s + s + s + s + s + s + s + s + s + s + s + s + s + s + s + s + s + s) > 0",
        "cel.bind(a, s + s, cel.bind(b, a + a, cel.bind(c, b + b, cel.bind(d, c + c, d + d + d + d))))",
    ],
)  # fmt: skip
def test_an_expression_cannot_hang_the_engine(text: str) -> None:
    """Whichever tier runs, it stops with Kubernetes' message; `||` does not absorb that."""
    program = cel.compile(text, cel.Env({"l": cel.types.DYN, "s": cel.types.DYN}))
    with pytest.raises(EvaluationError) as caught:
        program.evaluate({"l": list(range(2000)), "s": "x" * (LIMIT // 2)})
    assert caught.value.reason == "cost"
    assert str(caught.value) == "operation cancelled: actual cost limit exceeded"


def test_lists_do_not_double_without_end() -> None:
    """Kubernetes shares what it joins; here it is copied, so its length has a limit."""
    names = ["l", *(f"a{n}" for n in range(9))]
    bound = "".join(f"cel.bind({new}, {old} + {old}, " for old, new in pairwise(names))
    text = bound + f"size({names[-1]})" + ")" * (len(names) - 1)
    program = cel.compile(text, cel.Env({"l": cel.types.DYN}))
    with pytest.raises(EvaluationError) as caught:
        program.evaluate({"l": [1] * 5000})
    assert program.evaluate({"l": [1]}) == 2**9
    assert caught.value.reason == "cost"
