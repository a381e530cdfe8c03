"""The codes of findings that compiling can give; see api.codes for how codes are kept."""

from __future__ import annotations

from rulesengine.api import Codes

CODES: Codes = {
    "RE301": ("unclosed expression", "A `${` has no `}` that closes it."),
    "RE302": ("${} in an expression field", "Expression fields hold bare CEL; `${…}` is for templates."),
    "RE303": (
        "bare CEL in a template",
        "Text in a template reads like an expression, but has no `${…}`.",
    ),
    "RE304": ("empty expression", "There is nothing between `${` and `}`, or in the field."),
    "RE305": (
        "kind must be literal",
        "apiVersion and kind are written out, so that what a rule can touch is readable.",
    ),
    "RE306": ("incomplete template", "A template names apiVersion, kind and metadata.name."),
    "RE307": ("field is not a template's", "The field belongs to the server or to the engine."),
    "RE308": ("null where text is needed", "apiVersion, kind, name and namespace cannot be null."),
    "RE309": ("unknown field of the kind", "The schema of the template's kind has no such field."),
    "RE310": ("wrong type for the kind", "The schema of the template's kind wants another type there."),
    "RE311": (
        "value not allowed by the kind",
        "The schema of the template's kind allows other values there.",
    ),
    "RE312": ("missing field of the kind", "The schema of the template's kind requires the field."),
    "RE313": ("duplicate entry", "Two elements of a keyed list have the same key; the server refuses that."),
    "RE321": ("unknown variable", "variables.X names no variable."),
    "RE322": ("variable used too early", "A variable uses those before it only; so there are no cycles."),
    "RE323": ("unknown resource", "resources.X or ready.X names no entry of spec.resources."),
    "RE324": ("cycle between resources", "Entries read each other's fields, so none could come first."),
    "RE325": (
        "resources in matchConditions",
        "Whether a source is meant cannot depend on what is made.",
    ),
    "RE326": ("resources as a whole", "Entries are read by name, so that their order is known."),
    "RE327": ("now in what is written", "What is written must not move with time; conditions may."),
    "RE328": ("no schedule", "The interval, schedule or time zone of spec.resync is none."),
    "RE329": ("Secret's value as a name", "Names are seen by everybody, and stand in status and logs."),
    "RE331": ("namespace missing", "A namespaced object of a cluster-scoped source must name its namespace."),
    "RE332": ("namespace on a cluster-scoped kind", "The kind has no namespaces."),
    "RE333": ("out of reach", "A Rule reads and makes namespaced objects of its own namespace only."),
    "RE335": ("conditions given twice", "Conditions stand in sourceStatus.conditions or in its value."),
    "RE336": (
        "Secret's value in the open",
        "A value read from a Secret ends up where more people can read it.",
    ),
    "RE334": ("no status", "The source's kind has no status that could be written."),
}
