"""What operators and functions take and yield: the checker's view of them, one line an overload.

`@ordered` and `@summed` stand for one type after the other. Members have a dot before the name
and their receiver as first parameter; single capitals are type parameters. `…` after the last
parameter: any number more of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from rulesengine.cel import types
from rulesengine.cel.library import FUNCTIONS
from rulesengine.cel.types import Type

# The order matters: an empty list's items are of the first type that fits.
_ORDERED = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_NUMBERS = ("int", "uint", "double")
_TEMPLATES = {"@ordered": _ORDERED, "@summed": (*_NUMBERS, "duration")}


@dataclass(frozen=True, slots=True)
class Overload:
    """One way to call a function. `params` hold the receiver first; `many`: the last repeats."""

    name: str
    member: bool
    params: tuple[Type, ...]
    result: Type
    many: bool = False

    @property
    def id(self) -> str:
        """`name(kinds of parameters)`, what costs are known by."""
        return f"{self.name}({','.join(each.kind for each in self.params)})"

    def takes(self, count: int) -> bool:
        return count == len(self.params) or (self.many and count >= len(self.params))


def overload(line: str) -> Overload:
    """From a line as below."""
    head, _, result = line.partition("->")
    name, _, inside = head.strip().partition("(")
    inside = inside.removesuffix(")")
    many = inside.endswith("…")
    listed = types.parse(f"opaque({inside.removesuffix('…')})").params if inside else ()
    return Overload(name.removeprefix("."), name.startswith("."), listed, types.parse(result), many)


OPERATORS: Final = """
_?_:_(bool, T, T) -> T
_&&_(bool, bool) -> bool
_||_(bool, bool) -> bool
!_(bool) -> bool
_==_(T, T) -> bool
_!=_(T, T) -> bool
_+_(bytes, bytes) -> bytes
_+_(double, double) -> double
_+_(duration, duration) -> duration
_+_(duration, timestamp) -> timestamp
_+_(timestamp, duration) -> timestamp
_+_(int, int) -> int
_+_(list(T), list(T)) -> list(T)
_+_(string, string) -> string
_+_(uint, uint) -> uint
_-_(double, double) -> double
_-_(duration, duration) -> duration
_-_(int, int) -> int
_-_(timestamp, duration) -> timestamp
_-_(timestamp, timestamp) -> duration
_-_(uint, uint) -> uint
_*_(double, double) -> double
_*_(int, int) -> int
_*_(uint, uint) -> uint
_/_(double, double) -> double
_/_(int, int) -> int
_/_(uint, uint) -> uint
_%_(int, int) -> int
_%_(uint, uint) -> uint
-_(double) -> double
-_(int) -> int
_[_](list(T), int) -> T
_[_](map(K, V), K) -> V
_[_](optional_type(list(T)), int) -> optional_type(T)
_[_](optional_type(map(K, V)), K) -> optional_type(V)
_[?_](list(T), int) -> optional_type(T)
_[?_](optional_type(list(T)), int) -> optional_type(T)
_[?_](map(K, V), K) -> optional_type(V)
_[?_](optional_type(map(K, V)), K) -> optional_type(V)
@in(T, list(T)) -> bool
@in(K, map(K, V)) -> bool
@sortBy(list(T), list(@ordered)) -> list(T)
.or(optional_type(T), optional_type(T)) -> optional_type(T)
.orValue(optional_type(T), T) -> T
"""

_PAIRS = (
    ("bool", "bool"),
    *(("int", each) for each in ("int", "double", "uint")),
    *(("uint", each) for each in ("uint", "double", "int")),
    *(("double", each) for each in ("double", "int", "uint")),
    *((each, each) for each in ("string", "bytes", "timestamp", "duration")),
)
_COMPARISONS: Final = [f"_{op}_({a}, {b}) -> bool" for op in ("<", "<=", ">", ">=") for a, b in _PAIRS]

LIBRARY: Final = """
size(bytes) -> int
size(list(T)) -> int
size(map(K, V)) -> int
size(string) -> int
.size(bytes) -> int
.size(list(T)) -> int
.size(map(K, V)) -> int
.size(string) -> int
type(T) -> type(T)
dyn(T) -> dyn
bool(bool) -> bool
bool(string) -> bool
bytes(bytes) -> bytes
bytes(string) -> bytes
double(double) -> double
double(int) -> double
double(string) -> double
double(uint) -> double
duration(duration) -> duration
duration(string) -> duration
duration(int) -> duration
int(int) -> int
int(double) -> int
int(duration) -> int
int(string) -> int
int(timestamp) -> int
int(uint) -> int
string(string) -> string
string(bool) -> string
string(bytes) -> string
string(double) -> string
string(duration) -> string
string(int) -> string
string(timestamp) -> string
string(uint) -> string
timestamp(timestamp) -> timestamp
timestamp(int) -> timestamp
timestamp(string) -> timestamp
uint(uint) -> uint
uint(double) -> uint
uint(int) -> uint
uint(string) -> uint
.contains(string, string) -> bool
.startsWith(string, string) -> bool
.endsWith(string, string) -> bool
.matches(string, string) -> bool
matches(string, string) -> bool
.getFullYear(timestamp) -> int
.getFullYear(timestamp, string) -> int
.getMonth(timestamp) -> int
.getMonth(timestamp, string) -> int
.getDate(timestamp) -> int
.getDate(timestamp, string) -> int
.getDayOfMonth(timestamp) -> int
.getDayOfMonth(timestamp, string) -> int
.getDayOfWeek(timestamp) -> int
.getDayOfWeek(timestamp, string) -> int
.getDayOfYear(timestamp) -> int
.getDayOfYear(timestamp, string) -> int
.getHours(timestamp) -> int
.getHours(timestamp, string) -> int
.getHours(duration) -> int
.getMinutes(timestamp) -> int
.getMinutes(timestamp, string) -> int
.getMinutes(duration) -> int
.getSeconds(timestamp) -> int
.getSeconds(timestamp, string) -> int
.getSeconds(duration) -> int
.getMilliseconds(timestamp) -> int
.getMilliseconds(timestamp, string) -> int
.getMilliseconds(duration) -> int
optional.of(T) -> optional_type(T)
optional.ofNonZeroValue(T) -> optional_type(T)
optional.none() -> optional_type(T)
optional.unwrap(list(optional_type(T))) -> list(T)
.unwrapOpt(list(optional_type(T))) -> list(T)
.hasValue(optional_type(T)) -> bool
.value(optional_type(T)) -> T
.charAt(string, int) -> string
.indexOf(string, string) -> int
.indexOf(string, string, int) -> int
.indexOf(list(T), T) -> int
.lastIndexOf(string, string) -> int
.lastIndexOf(string, string, int) -> int
.lastIndexOf(list(T), T) -> int
.lowerAscii(string) -> string
.upperAscii(string) -> string
.replace(string, string, string) -> string
.replace(string, string, string, int) -> string
.split(string, string) -> list(string)
.split(string, string, int) -> list(string)
.substring(string, int) -> string
.substring(string, int, int) -> string
.trim(string) -> string
.reverse(string) -> string
.reverse(list(T)) -> list(T)
.join(list(string)) -> string
.join(list(string), string) -> string
.format(string, list(dyn)) -> string
strings.quote(string) -> string
.isSorted(list(@ordered)) -> bool
.sum(list(@summed)) -> @summed
.min(list(@ordered)) -> @ordered
.max(list(@ordered)) -> @ordered
.includes(dyn, dyn) -> bool
.distinct(list(T)) -> list(T)
.flatten(list(list(T))) -> list(T)
.flatten(list(dyn), int) -> list(dyn)
.slice(list(T), int, int) -> list(T)
.sort(list(@ordered)) -> list(@ordered)
.first(list(T)) -> optional_type(T)
.last(list(T)) -> optional_type(T)
lists.range(int) -> list(int)
sets.contains(list(T), list(T)) -> bool
sets.equivalent(list(T), list(T)) -> bool
sets.intersects(list(T), list(T)) -> bool
math.greatest(dyn…) -> dyn
math.least(dyn…) -> dyn
math.ceil(double) -> double
math.floor(double) -> double
math.round(double) -> double
math.trunc(double) -> double
math.abs(double) -> double
math.abs(int) -> int
math.abs(uint) -> uint
math.sign(double) -> double
math.sign(int) -> int
math.sign(uint) -> uint
math.isNaN(double) -> bool
math.isInf(double) -> bool
math.isFinite(double) -> bool
math.bitAnd(int, int) -> int
math.bitAnd(uint, uint) -> uint
math.bitOr(int, int) -> int
math.bitOr(uint, uint) -> uint
math.bitXor(int, int) -> int
math.bitXor(uint, uint) -> uint
math.bitNot(int) -> int
math.bitNot(uint) -> uint
math.bitShiftLeft(int, int) -> int
math.bitShiftLeft(uint, int) -> uint
math.bitShiftRight(int, int) -> int
math.bitShiftRight(uint, int) -> uint
math.sqrt(int) -> double
math.sqrt(uint) -> double
math.sqrt(double) -> double
ip(string) -> net.IP
.ip(net.CIDR) -> net.IP
string(net.IP) -> string
string(net.CIDR) -> string
isIP(string) -> bool
ip.isCanonical(string) -> bool
.family(net.IP) -> int
.isUnspecified(net.IP) -> bool
.isLoopback(net.IP) -> bool
.isLinkLocalMulticast(net.IP) -> bool
.isLinkLocalUnicast(net.IP) -> bool
.isGlobalUnicast(net.IP) -> bool
cidr(string) -> net.CIDR
isCIDR(string) -> bool
.containsIP(net.CIDR, string) -> bool
.containsIP(net.CIDR, net.IP) -> bool
.containsCIDR(net.CIDR, string) -> bool
.containsCIDR(net.CIDR, net.CIDR) -> bool
.masked(net.CIDR) -> net.CIDR
.isMask(net.CIDR) -> bool
.prefixLength(net.CIDR) -> int
.find(string, string) -> string
.findAll(string, string) -> list(string)
.findAll(string, string, int) -> list(string)
base64.encode(bytes) -> string
base64.decode(string) -> bytes
json.marshal(dyn) -> string
json.unmarshal(string) -> dyn
yaml.unmarshal(string) -> dyn
hash.sha256(string) -> string
hash.sha256(bytes) -> string
hash.sha1(string) -> string
hash.sha1(bytes) -> string
hash.md5(string) -> string
hash.md5(bytes) -> string
hash.fnv64a(string) -> string
hash.fnv64a(bytes) -> string
merge(list(T)) -> T
merge(map(K, V)…) -> map(K, V)
k8s.name(string…) -> string
k8s.selects(dyn, dyn) -> bool
omit() -> dyn
"""


def _filled(line: str) -> Iterable[str]:
    """One line for each type that a template stands for."""
    for template, kinds in _TEMPLATES.items():
        if template in line:
            return [line.replace(template, kind) for kind in kinds]
    return [line]


def _by_name(lines: Iterable[str]) -> dict[str, tuple[Overload, ...]]:
    found: dict[str, tuple[Overload, ...]] = {}
    for line in (one for each in filter(None, map(str.strip, lines)) for one in _filled(each)):
        each = overload(line)
        found[each.name] = (*found.get(each.name, ()), each)
    return found


def implementation(name: str, *, member: bool) -> Callable[..., Any] | None:
    """What runs a function of the library."""
    return FUNCTIONS.get(f".{name}" if member else name)


OVERLOADS: Final = _by_name([*OPERATORS.splitlines(), *_COMPARISONS]) | {
    name: kept
    for name, each in _by_name(LIBRARY.splitlines()).items()
    if (kept := tuple(o for o in each if implementation(name, member=o.member) is not None))
}
