"""One object as the cache keeps it, and how the server's bytes become one.

A record has the identity in the open, what rules read as a projection, and the whole object
compressed. Decoding happens when somebody asks, so an event nobody cares about never becomes
Python objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from sys import intern

import msgspec
from msgspec import UNSET, Raw, UnsetType

from rulesengine.cache.packing import Packer, without_others
from rulesengine.cache.projection import FieldPath, Projection, differ
from rulesengine.core import json
from rulesengine.core.errors import RulesEngineError
from rulesengine.core.json import Object
from rulesengine.core.keys import ObjectKey
from rulesengine.core.kinds import GroupVersionKind

OWNER_ANNOTATION = "rulesengine.dev/owner"


class BadObject(RulesEngineError):
    """An object that is none: without metadata or name, or not JSON. The message quotes nothing."""


class _Annotations(msgspec.Struct, rename={"claim": OWNER_ANNOTATION}, gc=False):
    claim: str = ""


class _Owner(msgspec.Struct, gc=False):
    uid: str = ""


class _Metadata(msgspec.Struct, rename="camel", gc=False):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str | None = ""
    deletion_timestamp: str | None = None
    labels: Raw | UnsetType = UNSET
    annotations: _Annotations | None = None
    owner_references: list[_Owner] | None = None
    managed_fields: list[Raw] | None = None


class _Head(msgspec.Struct, gc=False):
    metadata: _Metadata


_head = msgspec.json.Decoder(_Head)
_labels = msgspec.json.Decoder(dict[str, str] | None)


class Record(msgspec.Struct, gc=False, eq=False):
    """Implements core.ports.Live; never changes for those who hold it.

    Not tracked by the garbage collector (it leads to nothing that leads back): a hundred
    thousand records cost a full collection nothing.
    """

    key: ObjectKey
    uid: str
    version: int
    created: str
    deleting: bool
    claim: str
    owners: tuple[str, ...]
    foreign: bool
    _maker: Maker
    _projection: Projection
    _labels: bytes
    _data: bytes
    _whole: bytes

    @property
    def labels(self) -> Mapping[str, str]:
        return (_labels.decode(self._labels) if self._labels else None) or {}

    @property
    def size(self) -> int:
        """Bytes of JSON and compressed JSON it holds, without Python's own overhead."""
        return len(self._data) + len(self._whole) + len(self._labels)

    def fields(self) -> Object:
        """What rules read of it; the whole object where nothing was kept apart."""
        if self.foreign or self._maker.projection.whole or self._projection.whole:
            return self.object()
        if self._projection is not self._maker.projection:
            self._catch_up(self._maker.projection)
        found: Object = json.decode(self._data) if self._data else {}
        meta = found.get("metadata")
        found["metadata"] = {**meta, **self._identity()} if isinstance(meta, dict) else self._identity()
        return {**self._maker.type_meta, **found}

    def object(self) -> Object:
        """The whole object, or of a foreign one the identity."""
        if self.foreign:
            return {**self._maker.type_meta, "metadata": self._identity()}
        # items of lists come without apiVersion and kind
        return {**self._maker.type_meta, **json.decode_object(self._maker.packer.unpack(self._whole))}

    def same_fields(self, other: Record, paths: Iterable[FieldPath]) -> bool:
        """Whether both read alike at these paths; see `changed`."""
        kept = self._projection
        if kept is other._projection and not kept.whole and kept.covers(paths):
            if self._data == other._data:
                return True
            return not differ(self.fields(), other.fields(), paths)
        return not differ(self.object(), other.object(), paths)

    def _identity(self) -> Object:
        identity = {"name": self.key.name, "uid": self.uid, "resourceVersion": str(self.version)}
        if self.key.namespace:
            identity["namespace"] = self.key.namespace
        return identity

    def _catch_up(self, projection: Projection) -> None:
        """Projects anew where rules began to read more of the kind since this was made."""
        if self._projection.covers(projection.paths):
            return
        # data before projection: a thread that reads between the two finds more than it looks for
        self._data = projection.project(self._maker.packer.unpack(self._whole))
        self._projection = projection

    def __repr__(self) -> str:
        return f"Record({self.key}, version={self.version}{', foreign' if self.foreign else ''})"


class Maker:
    """Makes records of one kind; what it keeps may grow while it is in use.

    `sources`: some rule takes objects of this kind as source or reads them, so every one is
    kept whole. Otherwise objects without a claim keep their identity only.
    """

    def __init__(self, gvk: GroupVersionKind) -> None:
        self.gvk = gvk
        self.type_meta: Object = {"apiVersion": gvk.api_version, "kind": gvk.kind}
        self.packer = Packer()
        self.projection = Projection()
        self.sources = False

    def make(self, raw: bytes | Raw) -> Record:
        """Raises BadObject."""
        data = bytes(raw)
        try:
            meta = _head.decode(data).metadata
            claim = meta.annotations.claim if meta.annotations else ""
            foreign = not self.sources and not claim
            labels = kept = whole = b""
            if not foreign:
                labels = b"" if isinstance(meta.labels, UnsetType) else bytes(meta.labels)
                kept = self.projection.project(data)
                managed = meta.managed_fields
                whole = self.packer.pack(without_others(data, managed) if managed else data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BadObject(f"an object of {self.gvk} cannot be decoded") from error
        return Record(
            # namespaces and owners are shared by many objects; the texts are kept once
            ObjectKey(self.gvk.group, self.gvk.kind, intern(meta.namespace), meta.name),
            meta.uid,
            int(meta.resource_version) if meta.resource_version.isdecimal() else 0,
            meta.creation_timestamp or "",
            meta.deletion_timestamp is not None,
            claim,
            tuple(intern(owner.uid) for owner in meta.owner_references or ()),
            foreign,
            self,
            self.projection,
            labels,
            kept,
            whole,
        )


def changed(old: Record | None, new: Record | None, paths: Iterable[FieldPath]) -> bool:
    """Whether somebody who reads these paths sees a difference between two states of an object.

    Coming, going, being deleted, and becoming another object (uid) are always differences.
    Metadata counts only where a path names it: whoever selects by labels reads
    ("metadata", "labels"), and () reads everything but resourceVersion and managedFields.
    """
    if old is None or new is None:
        return old is not new
    if old.uid != new.uid or old.deleting != new.deleting or old.foreign != new.foreign:
        return True
    return False if old.foreign else not old.same_fields(new, paths)
