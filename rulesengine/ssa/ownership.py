"""Which fields a value sets: the paths an applier owns by it, and all the paths it has.

An applier owns leaves, list items, and keys that no schema declares; a declared struct on
the way is not owned. That, and what counts as a leaf (an atomic list or map as a whole, an
empty map, a null), is the server's rule and not a choice.
"""

from __future__ import annotations

from rulesengine.core.json import Json, Object
from rulesengine.schema import Schema
from rulesengine.ssa.elements import of_item
from rulesengine.ssa.fieldset import SELF, FieldSet, Tree, difference

# The identity of an object and what only the server writes belongs to no manager.
_NOBODYS = (
    *("name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation"),
    *("managedFields", "resourceVersion"),
)
STRIPPED = FieldSet(
    {
        "f:apiVersion": {},
        "f:kind": {},
        "f:metadata": {SELF: {}, **{f"f:{name}": {} for name in _NOBODYS}},
    }
)


def owned(schema: Schema, value: Object) -> Tree:
    """The paths an apply of `value` owns, before the server strips what belongs to nobody."""
    return _map(schema, value)


def stripped(tree: Tree) -> Tree:
    """Without identity and server-owned metadata."""
    return difference(tree, STRIPPED.tree)


def is_list(schema: Schema, value: Json) -> bool:
    """Whether a value is a list whose items are owned one by one."""
    return type(value) is list and schema.list_type != "atomic" and schema.type in ("array", "")


def is_map(schema: Schema, value: Json) -> bool:
    """Whether a value is a map whose keys are owned one by one."""
    return (
        type(value) is dict
        and schema.map_type != "atomic"
        and schema.type in ("object", "")
        and not schema.quantity
    )


def _node(schema: Schema, value: Json) -> Tree | None:
    """What is owned at and below a value; None when nothing by itself."""
    if type(value) is dict and is_map(schema, value):
        return _map(schema, value) or None
    if type(value) is list and is_list(schema, value):
        return _list(schema, value) or None
    if value is None and schema.type in ("object", "array"):
        return None if schema.map_type == "granular" and schema.list_type != "atomic" else {}
    return {}


def _map(schema: Schema, value: Object) -> Tree:
    tree: Tree = {}
    properties = schema.properties
    for key, each in value.items():
        if type(each) is str:  # a leaf whatever the schema
            tree["f:" + key] = {}
            continue
        declared = properties.get(key)
        below = declared if declared is not None else schema.child(key) or Schema.ANY
        node = _node(below, each)
        if node is None:
            if declared is None or each is None or each == {}:
                tree["f:" + key] = {}
            continue
        if node and declared is None:
            node[SELF] = {}
        tree["f:" + key] = node
    return tree


def _list(schema: Schema, value: list[Json]) -> Tree:
    tree: Tree = {}
    items = schema.items or Schema.ANY
    twice = set()
    for each in value:
        element = of_item(schema, each)
        if element in tree:
            twice.add(element)
            continue
        node = _node(items, each)
        if node:
            node[SELF] = {}
        tree[element] = node or {}
    for element in twice:  # tolerated in live objects: owned as a whole
        tree[element] = {}
    return tree


_ZEROS: Json = {"string": "", "integer": 0, "number": 0, "boolean": False}


def nothing(schema: Schema) -> Object:
    """What an object of a built-in kind is before anything is set; {} for a custom resource.

    Structs that are always there, and the zero values of fields that are never left out.
    """
    present: Object = {}
    for key, below in schema.properties.items():
        if below.always:
            present[key] = nothing(below)
        elif key in schema.required:
            present[key] = _ZEROS.get(below.type)
    return present


def every(schema: Schema, value: Json) -> Tree:
    """All paths at and below a value, each a member: what appears or goes with it."""
    if is_map(schema, value):
        tree = {"f:" + key: every(schema.child(key) or Schema.ANY, each) for key, each in value.items()}
    elif is_list(schema, value):
        items = schema.items or Schema.ANY
        tree = {}
        for each in value:
            element = of_item(schema, each)
            tree[element] = every(items, each) if element not in tree else {}
    else:
        return {}
    if tree:
        tree[SELF] = {}
    return tree
