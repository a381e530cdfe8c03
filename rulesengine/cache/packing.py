"""Whole objects at rest: compressed, and without what other managers' entries take up.

The one door to zstandard. Objects are compressed one by one, at the fastest ordinary level,
against a dictionary: the first few objects of the kind as they are. Objects of a kind are
alike, so a Pod of 5 KB takes 0.7 KB instead of 1.2; a trained dictionary would save another
tenth and cost 50 ms in which nothing else runs.
"""

from __future__ import annotations

import threading

import msgspec
import zstandard
from msgspec import Raw

from rulesengine.core.keys import MANAGER_PREFIX

LEVEL = 1
SMALL = 256  # bytes; below, compression saves less than Python's own overhead of the object
LEARNED = 8  # objects in the dictionary
LEARNED_BYTES = 2**15
_PLAIN = ord("{")  # JSON objects begin so, zstd frames never do

_pieces = msgspec.json.Decoder(dict[str, Raw])
_PREFIX = MANAGER_PREFIX.encode()


class _Entry(msgspec.Struct, gc=False):
    manager: str = ""


_entry = msgspec.json.Decoder(_Entry)


class Packer:
    """For the objects of one kind. Compresses on the event loop, decompresses in any thread."""

    def __init__(self) -> None:
        self._samples: list[bytes] = []
        self._dictionary: zstandard.ZstdCompressionDict | None = None
        self._compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=False)
        self._threads = threading.local()  # a decompressor must not be used by two threads at once

    def pack(self, raw: bytes) -> bytes:
        if len(raw) < SMALL:
            return raw
        # the library hands out a buffer of the worst case's size and never shrinks it: without
        # the copy a Pod takes 4.0 KiB instead of 2.2 KiB
        packed = bytes(memoryview(self._compressor.compress(raw)))
        if self._dictionary is None:
            self._learn(raw)
        return packed

    def unpack(self, packed: bytes) -> bytes:
        if packed[0] == _PLAIN:
            return packed
        return bytes(self._decompressor().decompress(packed))

    def _learn(self, raw: bytes) -> None:
        self._samples.append(raw)
        if len(self._samples) < LEARNED and sum(map(len, self._samples)) < LEARNED_BYTES:
            return
        content = b"".join(self._samples)[:LEARNED_BYTES]
        self._samples.clear()
        learned = zstandard.ZstdCompressionDict(content, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
        learned.precompute_compress(level=LEVEL)
        self._compressor = zstandard.ZstdCompressor(level=LEVEL, dict_data=learned, write_checksum=False)
        self._dictionary = learned

    def _decompressor(self) -> zstandard.ZstdDecompressor:
        """One for each thread. With the dictionary it also reads what was packed before there was one."""
        dictionary = self._dictionary
        known, decompressor = getattr(self._threads, "known", (None, None))
        if decompressor is None or known is not dictionary:
            decompressor = (
                zstandard.ZstdDecompressor(dict_data=dictionary)
                if dictionary is not None
                else zstandard.ZstdDecompressor()
            )
            self._threads.known = (dictionary, decompressor)
        return decompressor


def without_others(raw: bytes, managed: list[Raw]) -> bytes:
    """The object's JSON with only our managers' entries left in managedFields."""
    ours = [entry for entry in managed if _is_ours(entry)]
    if len(ours) == len(managed):
        return raw
    pieces = _pieces.decode(raw)
    metadata: dict[str, object] = dict(_pieces.decode(pieces["metadata"]))
    if ours:
        metadata["managedFields"] = ours
    else:
        del metadata["managedFields"]
    return msgspec.json.encode({**pieces, "metadata": metadata})


def _is_ours(entry: Raw) -> bool:
    # most entries are others', and looking for the bytes is cheaper than decoding
    return _PREFIX in bytes(entry) and _entry.decode(entry).manager.startswith(MANAGER_PREFIX)
