"""What can be set about the engine: unit, default and reason of each. Frozen once it runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from rulesengine.apply import EventSettings


@dataclass(frozen=True, slots=True)
class Settings:
    """All times are seconds."""

    # Where the owner key is kept. Its objects, and those of kube-*, are left alone by rules.
    namespace: str = "rulesengine-system"
    # Work items looked at side by side. A pass waits mostly for the server, and 16 of them keep
    # the connections of the client busy; 1 makes everything happen one after the other.
    workers: int = 16
    # How often a rule's status is written at most. Status is for people: sooner would cost a write
    # for every few work items of a large rule. 0 writes on every change.
    status_interval: float = 5.0
    # A change is written after this moment, so that a small rule that converges at once needs one
    # write and not one for every source.
    status_delay: float = 0.1
    # After a start, counts begin at zero again; until every source was looked at, at most so long,
    # the status that stands is left as it is.
    status_patience: float = 30.0
    # How long work under way may take to end after SIGTERM. Kubernetes kills after 30 by default;
    # a second signal ends it at once.
    drain: float = 30.0
    # First and longest delay of a work item that failed; doubles in between.
    backoff_first: float = 0.005
    backoff_longest: float = 1000.0
    # A pass that wrote is looked at again at once when its rule reads what was written. Beyond
    # so many rounds it queues up behind the others. 0: always queues up.
    rounds: int = 10
    # CRDs change several times while they are made: asked once they were still for so long,
    # and a second time for the schemas, which the server publishes later than the kind.
    kinds_delay: float = 0.3
    kinds_second_look: float = 3.0
    # Requests a second that one rule may cause, and how many it may save up while it is quiet. Above
    # what one API server takes from the engine in any case, so that it only meets rules that run
    # wild. A rate of 0 bounds nothing.
    rule_requests: float = 1000.0
    rule_burst: float = 5000.0
    # Kubernetes Events about what was done; see there. `EventSettings(0, 0)` sends none.
    events: EventSettings = field(default_factory=EventSettings)
