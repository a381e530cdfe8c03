"""The words for what happened: one table, used in status, events, diffs, metrics and docs."""

from __future__ import annotations

from enum import Enum


class Reason(Enum):
    """A CamelCase word for machines (`value`) and one sentence for people (`sentence`)."""

    # evaluation
    EVALUATION_FAILED = ("EvaluationFailed", "An expression could not be evaluated.")
    COST_EXCEEDED = ("CostExceeded", "An expression used up its budget.")
    INVALID_TEMPLATE = ("InvalidTemplate", "A template rendered to no object of its kind.")
    WAITING = ("Waiting", "Something this needs is not there yet.")
    UNREADABLE = ("Unreadable", "Something this reads cannot be read at present.")
    # ownership
    CONFLICT = ("Conflict", "Another manager owns a field with a different value.")
    NOT_OURS = ("NotOurs", "An object of that name exists that this rule did not make.")
    CLAIMED = ("Claimed", "Another work item of this rule holds the object.")
    TARGET_IS_INPUT = ("TargetIsInput", "The object is what the work item reads; it cannot be its target.")
    RESTORED_COPY = ("RestoredCopy", "The object is younger than its stamp: a restored copy, left alone.")
    # the server's answers
    FORBIDDEN = ("Forbidden", "The server does not allow the engine to do this.")
    REFUSED = ("Refused", "An admission webhook or policy refused the write.")
    INVALID = ("Invalid", "The server finds the object invalid.")
    IMMUTABLE_FIELD = ("ImmutableField", "A field that cannot be changed would have to change.")
    UNKNOWN_KIND = ("UnknownKind", "The server does not serve the kind.")
    NAMESPACE_MISSING = ("NamespaceMissing", "The namespace is not there.")
    NAMESPACE_TERMINATING = ("NamespaceTerminating", "The namespace is being deleted.")
    TERMINATING = ("Terminating", "The object is being deleted.")
    STALE = ("Stale", "The object changed meanwhile; it is looked at again.")
    UNAVAILABLE = ("Unavailable", "The server did not answer or was overloaded.")
    # safety
    TOO_MANY = ("TooMany", "A work item wants or reads more objects than the rule's limits allow.")
    LOOPING = ("Looping", "The same object is written again and again.")
    CLEANUP_BLOCKED = ("CleanupBlocked", "What the rule made cannot be removed.")
    STATUS_CONTESTED = ("StatusContested", "Somebody else keeps changing the fields of the source's status.")
    SKIPPED_SYSTEM_NAMESPACE = ("SystemNamespace", "Objects of system namespaces are left alone.")
    INTERNAL = ("InternalError", "An unexpected error; the engine's log has the details.")

    def __init__(self, word: str, sentence: str) -> None:
        self.word = word
        self.sentence = sentence

    def __str__(self) -> str:
        return self.word
