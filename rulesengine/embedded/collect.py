"""Makes the data file of Go structs (and protobuf messages) from the sources of the Kubernetes API.

    python -m rulesengine.embedded.collect MODULES [FILE]

MODULES is the folder of the modules (`$(go env GOMODCACHE)/k8s.io`), which has api@v…,
apimachinery@v… and so on. The Go structs say it all: JSON name, field number, and whether a
field is a pointer or omitted when empty. A development tool.
"""

from __future__ import annotations

import gzip
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from rulesengine.core import json
from rulesengine.core.json import Object
from rulesengine.embedded.structs import FILE, MESSAGE
from rulesengine.schema import builtin

MODULES = ("api", "apimachinery", "apiextensions-apiserver", "kube-aggregator")
SPECIAL = {
    "apimachinery/pkg/apis/meta/v1.Time": "t",
    "apimachinery/pkg/apis/meta/v1.MicroTime": "m",
    "apimachinery/pkg/apis/meta/v1.Duration": "D",
    "apimachinery/pkg/apis/meta/v1.FieldsV1": "r",
    "apimachinery/pkg/util/intstr.IntOrString": "x",
    "apimachinery/pkg/api/resource.Quantity": "q",
    "apimachinery/pkg/runtime.RawExtension": "r",
    "apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON": "r",
}
BASIC = {
    "string": "s", "bool": "b", "int32": "i", "int64": "i", "int": "i", "uint32": "i", "uint64": "i",
    "float64": "d", "byte": "y", "uint8": "y",
}  # fmt: skip
_STRUCT = re.compile(r"^type (\w+) struct ?\{(?:\}|\n(.*?)^\})", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"^type (\w+) (?!struct|interface)(\S+)", re.MULTILINE)
_IMPORT = re.compile(r'^\s*(?:import\s+)?(\w+)?\s*"(k8s\.io/[^"]+)"', re.MULTILINE)
_FIELD = re.compile(r"^\t(?:(\w+)[ \t]+)?(\S+)[ \t]+`([^`]*)`", re.MULTILINE)
_PROTO = re.compile(r'protobuf:"\w+,(\d+),')
_JSON = re.compile(r'json:"([^",]*)')


@dataclass
class Package:
    name: str  # "api/core/v1"
    structs: dict[str, tuple[str, dict[str, str]]] = field(default_factory=dict)
    named: dict[str, tuple[str, dict[str, str]]] = field(default_factory=dict)


class Sources:
    """The Go packages of the modules, read when first needed."""

    def __init__(self, folder: Path) -> None:
        self._roots = {name: max(folder.glob(f"{name}@v*")) for name in MODULES}
        self._packages: dict[str, Package] = {}

    def package(self, name: str) -> Package:
        if name not in self._packages:
            self._packages[name] = self._read(name)
        return self._packages[name]

    def groups(self) -> dict[tuple[str, str], str]:
        """(group, version) → package, from the `GroupName` each package registers."""
        found = {}
        for module, root in self._roots.items():
            for register in root.rglob("register.go"):
                match = re.search(r'GroupName\s*=\s*"([^"]*)"', register.read_text())
                name = f"{module}/{register.parent.relative_to(root)}"
                if match is not None and re.fullmatch(r"v\d\w*", register.parent.name):
                    found[(match[1], register.parent.name)] = name
        return found

    def _read(self, name: str) -> Package:
        module, _, rest = name.partition("/")
        package = Package(name)
        for file in sorted((self._roots[module] / rest).glob("*.go")):
            if file.name.endswith("_test.go") or "generated" in file.name:
                continue
            text = file.read_text()
            imports = {}
            for alias, path in _IMPORT.findall(text):
                imports[alias or path.rpartition("/")[2]] = path.removeprefix("k8s.io/")
            package.structs |= {m[1]: (m[2] or "", imports) for m in _STRUCT.finditer(text)}
            package.named |= {m[1]: (m[2], imports) for m in _NAMED.finditer(text)}
        return package


class Messages:
    """Messages by name, gathered from the kinds down."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self.found: dict[str, list[Object]] = {}

    def add(self, package: str, struct: str) -> str:
        name = f"{package}.{struct}"
        if name in self.found:
            return name
        self.found[name] = fields = []
        body, imports = self._sources.package(package).structs[struct]
        for _, kind, tags in _FIELD.findall(body):
            number, json_name = _PROTO.search(tags), _JSON.search(tags)
            if number is None or json_name is None or json_name[1] == "-":
                continue
            entry: Object = {"n": int(number[1]), "k": json_name[1], "t": self._shape(package, imports, kind)}
            if kind.startswith("*"):
                entry["p"] = True
            if omitted := re.search(r"json:\"[^\"]*omit(empty|zero)", tags):
                entry["o"] = "zero" if "omitzero" in tags else omitted[1]
            fields.append(entry)
        return name

    def _shape(self, package: str, imports: dict[str, str], kind: str) -> str:
        kind = kind.removeprefix("*")
        if kind == "[]byte":
            return "y"
        if kind.startswith("[]"):
            return "[" + self._shape(package, imports, kind[2:])
        if kind.startswith("map["):
            return "{" + self._shape(package, imports, kind.partition("]")[2])
        if kind in BASIC:
            return BASIC[kind]
        alias, dot, name = kind.rpartition(".")
        where = imports[alias] if dot else package
        if f"{where}.{name}" in SPECIAL:
            return SPECIAL[f"{where}.{name}"]
        found = self._sources.package(where)
        if name in found.structs:
            return MESSAGE + self.add(where, name)
        target, theirs = found.named[name]
        shape = self._shape(where, theirs, target)
        return f"<{shape}" if shape.startswith("[") else shape  # a named list is a message of its own


def collect(folder: Path) -> Object:
    sources = Sources(folder)
    messages, groups = Messages(sources), sources.groups()
    kinds = {}
    meta = "apimachinery/pkg/apis/meta/v1"
    for resource in builtin.resources():
        package = groups.get((resource.gvk.group, resource.gvk.version))
        if package is None or resource.gvk.kind not in sources.package(package).structs:
            continue
        kinds[f"{resource.gvk.api_version} {resource.gvk.kind}"] = messages.add(package, resource.gvk.kind)
    kinds["DeleteOptions"] = messages.add(meta, "DeleteOptions")
    return {"kinds": kinds, "messages": messages.found}


def main() -> None:
    content = json.encode_sorted(collect(Path(sys.argv[1])))
    default = Path(__file__).parent / "data" / FILE
    target = Path(sys.argv[2]) if len(sys.argv) > 2 else default
    target.write_bytes(gzip.compress(content, 9, mtime=0))


if __name__ == "__main__":
    main()
