"""The metrics, read off the engine when somebody scrapes. The only door to prometheus-client.

Names and labels are controller-runtime's and client-go's where the meaning is the same, so that
their dashboards go on working; what only rules have begins with `rulesengine_`. Nothing is kept
here: a series exists as long as what it is about. The text is made beside the event loop, from
copies that are taken in one step each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from rulesengine import __version__
from rulesengine.core.keys import RuleKey
from rulesengine.core.measure import Histogram
from rulesengine.runtime.controller import State
from rulesengine.runtime.measures import RuleMeasures
from rulesengine.runtime.queue import Queue
from rulesengine.runtime.workers import Workers

if TYPE_CHECKING:
    from rulesengine.runtime.engine import Engine

Labels: TypeAlias = tuple[str, ...]
K = TypeVar("K")
LEASE = "rulesengine"


def named(key: RuleKey) -> str:
    """A rule as the command line names it: clusterrule/NAME, rule/NAMESPACE/NAME."""
    return "/".join(part for part in (key.kind.lower(), key.namespace, key.name) if part)


class Metrics:
    """A registry of its own, for one engine. `leading` says whether this process is the leader."""

    def __init__(self, engine: Engine, leading: Callable[[], bool] = lambda: True) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self.registry.register(_Engine(engine, leading))

    def expose(self, accept: str) -> tuple[str, bytes]:
        """Content type and text, in the form that the scraper asks for."""
        encode, content_type = choose_encoder(accept)
        return content_type, encode(self.registry)


class _Engine(Collector):
    def __init__(self, engine: Engine, leading: Callable[[], bool]) -> None:
        self._engine = engine
        self._leading = leading

    def collect(self) -> Iterator[Metric]:
        yield _gauge("rulesengine_build_info", "Version of the engine.", ("version",), {(__version__,): 1})
        leading = {(LEASE,): float(self._leading())}
        yield _gauge("leader_election_master_status", "1 for the leader.", ("name",), leading)
        yield from self._rules()
        yield from self._passes()
        yield from self._queues()
        yield from self._requests()
        yield from self._cache()

    def _rules(self) -> Iterator[Metric]:
        controllers = list(self._engine.rules.controllers.items())
        states = Counter(controller.state for _, controller in controllers)
        counts = {(state.value,): float(states[state]) for state in State}
        yield _gauge("rulesengine_rules", "Rules by state.", ("state",), counts)
        accepted = {(named(key),): float(not c.rejected) for key, c in controllers}
        text = "1 where the present generation of a rule is accepted."
        yield _gauge("rulesengine_rule_accepted", text, ("controller",), accepted)
        pending = {
            (named(key),): float(controller.state is not State.IDLE and not controller.planned)
            for key, controller in controllers
        }
        text = "1 where sources of a rule were not looked at yet, or cannot be."
        yield _gauge("rulesengine_rule_pending", text, ("controller",), pending)
        items = {
            (named(key), state): float(controller.tally.counts[state])
            for key, controller in controllers
            for state in ("converged", "waiting", "failed")
        }
        yield _gauge("rulesengine_items", "Sources of a rule by state.", ("controller", "state"), items)
        looping = {
            (named(key),): float(sum(bool(item.looping) for item in list(controller.tally.items.values())))
            for key, controller in controllers
        }
        text = "Sources of a rule whose writes are slowed down because somebody undoes them."
        yield _gauge("rulesengine_looping_items", text, ("controller",), looping)

    def _passes(self) -> Iterator[Metric]:
        engine = self._engine
        found = [(named(key), measures) for key, measures in list(engine.measures.rules.items())]
        yield from _reconciles(found)
        busy = Counter(named(request.rule) for request in engine.workers.running)
        counts = {(name,): float(busy[name]) for name in {*(name for name, _ in found), *busy}}
        text = "Work items of a rule being looked at."
        yield _gauge("controller_runtime_active_workers", text, ("controller",), counts)
        most = {(): float(engine.settings.workers)}
        text = "Work items looked at side by side, of all rules."
        yield _gauge("controller_runtime_max_concurrent_reconciles", text, (), most)
        defects = {(): float(engine.passes.defects)}
        text = "Passes that ended by a defect of the engine."
        yield _counter("controller_runtime_reconcile_panics_total", text, (), defects)
        text = "Work items that wait for a change of some object."
        yield _gauge("rulesengine_waiting_items", text, (), {(): float(len(engine.waiters))})
        for name, text, labels, read in _BY_RULE:
            sums = {(rule, *key): float(n) for rule, m in found for key, n in read(m)}
            yield _counter(name, text, ("controller", *labels), sums)

    def _queues(self) -> Iterator[Metric]:
        engine = self._engine
        found = {
            "work": (engine.queue, engine.workers),
            "rules": (engine.rules.queue, engine.rules.workers),
            "status": (engine.statuses.queue, engine.statuses.workers),
        }
        yield from _workqueues(found)

    def _requests(self) -> Iterator[Metric]:
        requests = self._engine.measures.requests
        counts = {(code, method, requests.host): float(n) for (code, method), n in _items(requests.codes)}
        text = "Requests to the API server by code, method and host."
        yield _counter("rest_client_requests_total", text, ("code", "method", "host"), counts)
        times = {(method, requests.host): each for method, each in list(requests.durations.items())}
        text = "How long requests took; watches are not among them."
        yield _histogram("rest_client_request_duration_seconds", text, ("verb", "host"), times)

    def _cache(self) -> Iterator[Metric]:
        cache = self._engine.cache
        objects: Counter[Labels] = Counter()
        size: Counter[Labels] = Counter()
        for store in cache.stores:
            objects[str(store.gvk.group_kind),] += len(store)
            size[str(store.gvk.group_kind),] += store.bytes
        yield _gauge("rulesengine_cache_objects", "Objects kept in memory.", ("kind",), objects)
        text = "Bytes of these objects, compressed as they are kept."
        yield _gauge("rulesengine_cache_bytes", text, ("kind",), size)
        watches: Counter[Labels] = Counter()
        unsynced: Counter[Labels] = Counter()
        silence: dict[Labels, float] = {}
        for informer in cache.informers:
            kind = (str(informer.scope.gvk.group_kind),)
            watches[kind] += 1
            unsynced[kind] += not informer.current.synced
            silence[kind] = max(silence.get(kind, 0.0), informer.silent_for)
        yield _gauge("rulesengine_cache_watches", "Watches by kind.", ("kind",), watches)
        text = "Watches whose kind cannot be read at present."
        yield _gauge("rulesengine_cache_unsynced", text, ("kind",), unsynced)
        text = "Seconds since a watch gave a sign of life; a server sends one about every minute."
        yield _gauge("rulesengine_cache_lag_seconds", text, ("kind",), silence)


def _reconciles(found: Iterable[tuple[str, RuleMeasures]]) -> Iterator[Metric]:
    words = ("success", "error", "requeue_after")
    counts = {(name, word): float(m.results[word]) for name, m in found for word in words}
    text = "Passes over work items by rule and result."
    yield _counter("controller_runtime_reconcile_total", text, ("controller", "result"), counts)
    errors = {(name,): float(m.results["error"]) for name, m in found}
    text = "Passes over work items that failed."
    yield _counter("controller_runtime_reconcile_errors_total", text, ("controller",), errors)
    text = "How long passes took, requests included."
    times = {(name,): m.time for name, m in found}
    yield _histogram("controller_runtime_reconcile_time_seconds", text, ("controller",), times)


def _workqueues(found: Mapping[str, tuple[Queue, Workers]]) -> Iterator[Metric]:
    running = {name: list(workers.running.values()) for name, (_, workers) in found.items()}
    gauges: tuple[tuple[str, str, Callable[[str], float]], ...] = (
        ("depth", "Items ready to be looked at.", lambda name: found[name][0].ready),
        ("unfinished_work_seconds", "Seconds spent on items under way.", lambda name: sum(running[name])),
        (
            "longest_running_processor_seconds",
            "Seconds spent on the item that is longest under way.",
            lambda name: max(running[name], default=0.0),
        ),
    )
    for name, text, read in gauges:
        yield _gauge(f"workqueue_{name}", text, ("name",), {(each,): float(read(each)) for each in found})
    yield _gauge(
        "rulesengine_queue_delayed",
        "Items to be looked at later: repetitions and backoff.",
        ("name",),
        {(name,): float(queue.delayed) for name, (queue, _) in found.items()},
    )
    adds = {(name,): float(queue.adds) for name, (queue, _) in found.items()}
    yield _counter("workqueue_adds_total", "Items that became ready.", ("name",), adds)
    retries = {(name,): float(queue.retries) for name, (queue, _) in found.items()}
    yield _counter("workqueue_retries_total", "Items that failed and come again.", ("name",), retries)
    waited = {(name,): queue.waited for name, (queue, _) in found.items()}
    yield _histogram("workqueue_queue_duration_seconds", "How long items were ready.", ("name",), waited)
    worked = {(name,): workers.worked for name, (_, workers) in found.items()}
    yield _histogram("workqueue_work_duration_seconds", "How long items took.", ("name",), worked)


Read: TypeAlias = Callable[[RuleMeasures], Iterable[tuple[Labels, int]]]
_BY_RULE: tuple[tuple[str, str, Labels, Read], ...] = (
    (
        "rulesengine_writes_total",
        "Writes to what rules want.",
        ("kind", "operation"),
        lambda m: _items(m.writes),
    ),
    (
        "rulesengine_noops_total",
        "Objects that needed no write, by the step that knew it.",
        ("step",),
        lambda m: [((step,), n) for step, n in _items(m.noops)],
    ),
    (
        "rulesengine_waits_total",
        "Objects that could not be made yet, by reason.",
        ("reason",),
        lambda m: [((reason,), n) for reason, n in _items(m.waits)],
    ),
    (
        "rulesengine_failures_total",
        "Objects that could not be made or decided, by reason.",
        ("reason",),
        lambda m: [((reason,), n) for reason, n in _items(m.failures)],
    ),
)


def _items(counts: Mapping[K, int]) -> list[tuple[K, int]]:
    return list(counts.items())


def _gauge(name: str, text: str, labels: Labels, values: Mapping[Any, float]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family


def _counter(name: str, text: str, labels: Labels, values: Mapping[Any, float]) -> Metric:
    family = CounterMetricFamily(name, text, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family


def _histogram(name: str, text: str, labels: Labels, values: Mapping[Any, Histogram]) -> Metric:
    family = HistogramMetricFamily(name, text, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value.buckets(), value.sum)
    return family
