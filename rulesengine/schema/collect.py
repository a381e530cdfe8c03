"""Makes the data file of built-in kinds from a running API server.

    python -m rulesengine.schema.collect KUBECONFIG [FILE]

Reads discovery and every `/openapi/v3` document and keeps what schemas are built from: types,
list types, keys, defaults, enums, formats. No descriptions, no paths. A development tool: the
kubeconfig's current user must have a token.
"""

from __future__ import annotations

import gzip
import ssl
import sys
import urllib.request
from pathlib import Path

from rulesengine.core import json
from rulesengine.core.json import Json, Object
from rulesengine.schema import builtin

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
PROSE = ("description", "title", "externalDocs", "example")


class Server:
    """GETs of a server named by a kubeconfig in JSON form (as the test control plane writes it)."""

    def __init__(self, kubeconfig: Path) -> None:
        config = json.decode_object(kubeconfig.read_bytes())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self._base = cluster["server"]
        self._token = user["token"]
        self._tls = ssl.create_default_context(cafile=cluster["certificate-authority"])

    def get(self, path: str, accept: str = "application/json") -> Object:
        headers = {"Authorization": f"Bearer {self._token}", "Accept": accept}
        request = urllib.request.Request(self._base + path, headers=headers)  # noqa: S310 - https of a kubeconfig
        handlers = urllib.request.HTTPSHandler(context=self._tls), urllib.request.ProxyHandler({})
        with urllib.request.build_opener(*handlers).open(request, timeout=30) as answer:
            return json.decode_object(answer.read())


def collect(server: Server) -> Object:
    """The content of the data file."""
    definitions: dict[str, Object] = {}
    for name, entry in sorted(server.get("/openapi/v3")["paths"].items()):
        if not name.startswith(("api/", "apis/")):
            continue
        document = server.get(entry["serverRelativeURL"])
        for key, raw in ((document.get("components") or {}).get("schemas") or {}).items():
            definitions[key] = without_prose(raw)
    return {"definitions": dict(sorted(definitions.items())), "resources": resources(server)}


def without_prose(raw: Json) -> Json:
    """A raw schema without its descriptions; a property that is named so stays."""
    if isinstance(raw, list):
        return [without_prose(each) for each in raw]
    if not isinstance(raw, dict):
        return raw
    kept = {}
    for key, value in raw.items():
        if key == "properties":
            kept[key] = {name: without_prose(each) for name, each in value.items()}
        elif not (key in PROSE and isinstance(value, str)):
            kept[key] = without_prose(value)
    return kept


def resources(server: Server) -> list[Object]:
    """Discovery, one entry a resource; subresources as names."""
    found = []
    for path in ("/api", "/apis"):
        for group in server.get(path, AGGREGATED)["items"]:
            for version in group["versions"]:
                where = {"group": group["metadata"].get("name", ""), "version": version["version"]}
                found += [where | _entry(each) for each in version["resources"]]
    return found


def _entry(raw: Object) -> Object:
    entry: Object = {
        "kind": raw["responseKind"]["kind"],
        "plural": raw["resource"],
        "namespaced": raw["scope"] == "Namespaced",
        "verbs": raw["verbs"],
        "singular": raw.get("singularResource", ""),
    }
    for key in ("shortNames", "categories"):
        if raw.get(key):
            entry[key] = raw[key]
    if raw.get("subresources"):
        entry["subresources"] = sorted(each["subresource"] for each in raw["subresources"])
    return entry


def main(arguments: list[str]) -> None:
    target = Path(__file__).parent / "data" / builtin.FILE
    if len(arguments) > 1:
        target = Path(arguments[1])
    packed = gzip.compress(json.encode(collect(Server(Path(arguments[0])))), 9, mtime=0)
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(packed)


if __name__ == "__main__":
    main(sys.argv[1:])
