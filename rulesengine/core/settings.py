"""What can be set about the engine: one table. Flags, the configuration file, `--help` and the
reference page are made from it; each setting says its unit, its default and the reason for it.

Names are the fields' with dashes: `--status-interval`, and `status-interval:` in the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from rulesengine.core.errors import UsageError

T = TypeVar("T")
Value = str | int | float | bool
_ABOUT = "setting"


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table. `least` and `most` bound numbers; `choices` are a text's only values."""

    name: str
    type: type[str | int | float | bool]
    unit: str
    default: Value
    what: str
    why: str
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()

    @property
    def field(self) -> str:
        """Its name in `Settings`."""
        return self.name.replace("-", "_")

    @property
    def shown(self) -> str:
        """The default with its unit, as people read it."""
        match self.default:
            case bool():
                return "on" if self.default else "off"
            case str():
                return self.default or "none"
            case _:
                return f"{self.default:g} {self.unit}" if self.unit else f"{self.default:g}"


def _setting(
    default: T, what: str, why: str, *, unit: str = "", least: float | None = None, most: float | None = None
) -> T:
    about = {"what": what, "why": why, "unit": unit, "least": least, "most": most}
    made: T = field(default=default, metadata={_ABOUT: about})
    return made


def seconds(default: float, what: str, why: str, *, least: float = 0.0, most: float = 86_400.0) -> float:
    """A setting that is a time."""
    return _setting(default, what, why, unit="s", least=least, most=most)


@dataclass(frozen=True, slots=True)
class Settings:
    """Frozen once the engine runs. Raises UsageError where two settings contradict each other."""

    namespace: str = _setting(
        "rulesengine-system",
        "The engine's own namespace; holds its owner key.",
        "Its objects, and those of kube-*, are left alone by rules.",
    )
    workers: int = _setting(
        16,
        "Work items looked at side by side.",
        "A pass waits mostly for the server, and 16 of them keep the connections busy; 1 makes everything "
        "happen one after the other.",
        unit="workers",
        least=1,
        most=256,
    )
    connections: int = _setting(
        32,
        "Requests under way at once; watches do not count.",
        "Beyond it requests wait. An API server takes 400 by default, for everybody.",
        unit="connections",
        least=1,
        most=1000,
    )
    status_interval: float = seconds(
        5.0,
        "How often the status of a rule is written at most.",
        "Status is for people: sooner would cost a write for every few work items of a large rule. 0 writes "
        "on every change.",
    )
    status_delay: float = seconds(
        0.1,
        "A change of a rule's status is written after this moment.",
        "A small rule that converges at once needs one write, not one for every source.",
    )
    status_patience: float = seconds(
        30.0,
        "After a start, how long the status that stands is left as it is while sources are looked at.",
        "Counts begin at zero again, and that would be told of rules with which all is well.",
    )
    drain: float = seconds(
        30.0,
        "How long work under way may take to end after SIGTERM.",
        "Kubernetes kills after 30 by default; a second signal ends it at once.",
    )
    backoff_first: float = seconds(
        0.005,
        "First delay of a work item that failed; doubles with each failure.",
        "Most failures are a conflict that is over when it is noticed.",
        least=0.001,
    )
    backoff_longest: float = seconds(
        1000.0,
        "Longest delay of a work item that fails again and again.",
        "What fails for hours needs a person; an edit of what it reads ends the delay at once.",
        least=0.001,
    )
    rounds: int = _setting(
        10,
        "How often a work item that reads what it wrote is looked at again at once.",
        "Beyond it the item queues up behind the others. 0: always queues up.",
        unit="rounds",
        least=0,
        most=1000,
    )
    kinds_delay: float = seconds(
        0.3,
        "How long CRDs must be still before the server is asked what it serves.",
        "They change several times while they are made.",
    )
    kinds_second_look: float = seconds(
        3.0,
        "When the server is asked a second time for the schemas of a new kind.",
        "It publishes them later than the kind.",
    )
    watch_grace: float = seconds(
        30.0,
        "How long a watch that no rule needs any more is kept.",
        "A rule that is edited lets go and takes hold within a moment. 0 ends it at once.",
    )
    rule_requests: float = _setting(
        1000.0,
        "Requests that one rule may cause.",
        "Above what one API server takes from the engine in any case, so that it only meets rules that run "
        "wild. 0 bounds nothing.",
        unit="requests/s",
        least=0.0,
        most=1e6,
    )
    rule_burst: float = _setting(
        5000.0,
        "Requests that a rule may save up while it is quiet.",
        "A rule that begins with thousands of sources is no rule that runs wild.",
        unit="requests",
        least=1.0,
        most=1e6,
    )
    events_burst: int = _setting(
        10,
        "Kubernetes Events that a rule may send at once, of each type (Normal, Warning).",
        "Enough to follow a small rule by hand. With events-interval 0, a burst of 0 sends none at all.",
        unit="events",
        least=0,
        most=1000,
    )
    events_interval: float = seconds(
        10.0,
        "Seconds until a rule may send one more Event.",
        "500 sources that converge cost about ten writes.",
    )
    events_series: float = seconds(
        360.0,
        "Seconds in which the same Event again only raises its count.",
        "As Kubernetes does. 0 sends each of them.",
    )
    metrics_address: str = _setting(
        "",
        "Where /metrics is served, for Prometheus: HOST:PORT or :PORT.",
        "A port that nobody asked for is in the way of a second engine on a laptop. `install` sets :8080.",
    )
    health_address: str = _setting(
        "",
        "Where /healthz and /readyz are served, for Kubernetes' probes: HOST:PORT or :PORT.",
        "As for metrics-address. `install` sets :8081.",
    )
    debug_address: str = _setting(
        "",
        "Where /debug/why?rule=…&object=… is served, on 127.0.0.1 only.",
        "It names objects to whoever asks, so it is there only when somebody wants it.",
    )
    webhook_address: str = _setting(
        "",
        "Where the admission webhook for rules is served, over TLS: HOST:PORT or :PORT.",
        "Without it wrong rules are told of in their status only. `install` sets :9443.",
    )
    webhook_certificates: str = _setting(
        "",
        "Folder with tls.crt and tls.key for the webhook, such as cert-manager's Secret mounted.",
        "Without it the engine makes its own, keeps them in a Secret and renews them with an overlap.",
    )
    leader_elect: bool = _setting(
        True,
        "Be at work only while holding the Lease `rulesengine` of the engine's namespace.",
        "Two engines that write undo each other's work. Off saves a request every two seconds, for a cluster "
        "where nobody else can start an engine. With --embedded there is no election.",
    )
    leader_elect_lease_duration: float = seconds(
        15.0,
        "How long others wait after the last renewal that they saw before they take the Lease.",
        "As in Kubernetes' own controllers: longer than an API server takes to restart.",
        least=1.0,
        most=3600.0,
    )
    leader_elect_renew_deadline: float = seconds(
        10.0,
        "How long after its last renewal the leader may begin writes; then it stops at once.",
        "The rest of the lease is for requests under way and for clocks of different speed.",
        least=0.5,
        most=3600.0,
    )
    leader_elect_retry_period: float = seconds(
        2.0,
        "How often the Lease is asked for or renewed.",
        "Five attempts within the deadline.",
        least=0.1,
        most=3600.0,
    )
    log_format: Literal["text", "json"] = _setting(
        "text", "How log lines are written, on standard error.", "People read text; log stores take json."
    )
    verbose: bool = _setting(
        False,
        "Log every pass over a work item.",
        "At rest nothing is logged either way; a large rule that converges writes a line for each source.",
    )

    def __post_init__(self) -> None:
        if not self.namespace:
            raise UsageError("namespace must not be empty; name the namespace that the engine runs in")
        for low, high in _ORDERED:
            if getattr(self, low) > getattr(self, high):
                names = low.replace("_", "-"), high.replace("_", "-")
                raise UsageError(f"{names[0]} must not be above {names[1]}; lower one or raise the other")


_ORDERED = (
    ("backoff_first", "backoff_longest"),
    ("leader_elect_retry_period", "leader_elect_renew_deadline"),
    ("leader_elect_renew_deadline", "leader_elect_lease_duration"),
)


def _rows() -> tuple[Setting, ...]:
    hints = get_type_hints(Settings)
    rows = []
    for each in fields(Settings):
        hint = hints[each.name]
        about: Mapping[str, Any] = each.metadata[_ABOUT]
        choices = get_args(hint) if get_origin(hint) is Literal else ()
        kind = str if choices else hint
        default: Any = each.default
        rows.append(Setting(each.name.replace("_", "-"), kind, default=default, choices=choices, **about))
    return tuple(rows)


TABLE = _rows()
