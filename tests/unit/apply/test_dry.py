"""A dry run says what the executor then does, object by object, and changes nothing."""

from __future__ import annotations

from datetime import timedelta

from rulesengine.apply import DryRun, Forecast
from rulesengine.compiler.rule import Adopt
from rulesengine.core import json
from rulesengine.core.reasons import Reason
from rulesengine.reconcile.plan import Created, Deleted, Held, Plan, Unchanged, Updated
from tests.unit.apply.fakes import CONFIG_MAP, NAMESPACE, WIDGET, Bench, key, planned


async def forecast(bench: Bench, plan: Plan, dry: DryRun | None = None) -> Forecast:
    """A dry run over the bench's server, which must be as before afterwards."""
    before = json.encode([[list(k), v] for k, v in bench.server.objects.items()])
    bench.server.dry = True
    dry = dry or DryRun(bench.server, bench.resources, bench.schemas, bench.clock)
    found = await dry.forecast(plan)
    bench.server.dry = False
    assert json.encode([[list(k), v] for k, v in bench.server.objects.items()]) == before
    return found


async def test_what_is_shown_is_what_happens(bench: Bench) -> None:
    """Creation, update, nothing, and removal: the same outcomes as the run that follows."""
    for name in ("same", "edited", "old"):
        await bench.one(bench.wanted(name, data={"a": "1"}))
    bench.server.edit(key("edited"), lambda body: body["data"].update(a="2"))
    bench.restarted()

    def plan() -> Plan:
        names = ("new", "same", "edited")
        return planned(
            *(bench.wanted(name, data={"a": "1"}) for name in names), unwanted=(bench.unwanted("old"),)
        )

    shown = await forecast(bench, plan())
    done = await bench.run(plan())
    assert [type(item.outcome) for item in shown.result.done] == [type(outcome) for outcome in done]
    assert done == [Created(), Unchanged("structural"), Updated(), Deleted()]
    assert [(p.operation, p.key.name) for p in shown.previews] == [
        ("create", "new"),
        ("update", "edited"),
        ("delete", "old"),
    ]


async def test_an_update_names_its_fields_and_shows_both_sides(bench: Bench) -> None:
    """Paths without values in the outcome; whole objects for the diff, without the server's own fields."""
    await bench.one(bench.wanted(data={"a": "1"}))
    shown = await forecast(bench, planned(bench.wanted(data={"a": "2"})))
    (preview,) = shown.previews
    assert len(preview.fields) == 1
    assert preview.fields[0].endswith("a")
    assert shown.result.done[0].outcome == Updated(preview.fields)
    assert preview.before is not None
    assert preview.after is not None
    assert (preview.before["data"], preview.after["data"]) == ({"a": "1"}, {"a": "2"})
    assert not {"managedFields", "resourceVersion", "uid"} & preview.after["metadata"].keys()


async def test_a_takeover_of_equal_fields_is_a_change_too(bench: Bench) -> None:
    """No value differs, but the run will write: it shows as ownership."""
    bench.server.put(
        CONFIG_MAP, "x", data={"a": "1"}, metadata={"annotations": {"rulesengine.dev/owner": "claim"}}
    )
    shown = await forecast(bench, planned(bench.wanted(data={"a": "1"})))
    assert [p.fields for p in shown.previews] == [("metadata.managedFields",)]
    assert await bench.one(bench.wanted(data={"a": "1"})) == Updated()


async def test_a_second_look_says_the_same(bench: Bench) -> None:
    """Nothing was written, so nothing is settled: neither removals nor updates vanish."""
    await bench.run(planned(bench.wanted("old"), bench.wanted(data={"a": "1"})))
    plan = planned(bench.wanted(data={"a": "2"}), unwanted=(bench.unwanted("old"),))
    dry = DryRun(bench.server, bench.resources, bench.schemas, bench.clock)
    first = await forecast(bench, plan, dry)
    assert await forecast(bench, plan, dry) == first
    assert len(first.previews) == 2


async def test_what_goes_into_a_namespace_to_come_is_shown_and_marked(bench: Bench) -> None:
    """The server cannot be asked there; what is wanted is shown instead, and the prune as well."""
    await bench.one(bench.wanted("old"))
    plan = planned(
        bench.wanted("c", namespace="new", data={"a": "1"}),
        bench.wanted("new", NAMESPACE),
        unwanted=(bench.unwanted("old"),),
    )
    shown = await forecast(bench, plan)
    assert [done.outcome for done in shown.result.done] == [Created(), Created(), Deleted()]
    assert [(p.key.name, p.local) for p in shown.previews] == [("c", True), ("new", False), ("old", False)]
    assert shown.previews[0].after is not None
    assert shown.previews[0].after["data"] == {"a": "1"}


async def test_a_namespace_that_another_rule_makes_can_be_expected(bench: Bench) -> None:
    """Otherwise the object waits, as it would in the run."""
    plan = planned(bench.wanted("c", namespace="new"))
    assert isinstance((await forecast(bench, plan)).result.done[0].outcome, Held)
    dry = DryRun(bench.server, bench.resources, bench.schemas, bench.clock)
    dry.expect(["new"])
    assert (await forecast(bench, plan, dry)).result.done[0].outcome == Created()


async def test_what_is_withheld_says_why(bench: Bench) -> None:
    """A foreign object that will not be touched."""
    bench.server.put(CONFIG_MAP, "x", data={"a": "theirs"})
    shown = await forecast(bench, planned(bench.foreign(Adopt.NEVER, data={"a": "1"})))
    assert [(p.operation, p.reason) for p in shown.previews] == [("withheld", Reason.NOT_OURS)]


async def test_an_adoption_is_shown_against_the_whole_object(bench: Bench) -> None:
    """The cache has only the identity of foreign objects; the diff must not."""
    bench.server.put(CONFIG_MAP, "x", data={"b": "theirs"})
    shown = await forecast(bench, planned(bench.foreign(Adopt.IF_UNOWNED, data={"a": "1"})))
    (preview,) = shown.previews
    assert preview.operation == "update"
    assert preview.before is not None
    assert preview.before["data"] == {"b": "theirs"}
    assert preview.after is not None
    assert preview.after["data"] == {"a": "1", "b": "theirs"}


async def test_the_collectors_time_is_not_waited_for(bench: Bench) -> None:
    """The object will be gone, by whoever: that is what a dry run is asked."""
    await bench.one(bench.wanted("old"))
    unwanted = bench.unwanted("old", wait_until=bench.clock.now() + timedelta(seconds=10))
    assert [p.operation for p in (await forecast(bench, planned(unwanted=(unwanted,)))).previews] == [
        "delete"
    ]


async def test_a_release_shows_what_goes(bench: Bench) -> None:
    """The object stays; our marks on it are the difference."""
    await bench.one(bench.wanted("old", data={"a": "1"}))
    shown = await forecast(bench, planned(unwanted=(bench.unwanted("old", release=True),)))
    (preview,) = shown.previews
    assert preview.operation == "release"
    assert preview.before is not None
    assert preview.after is not None
    assert preview.before["data"] == preview.after["data"]
    assert preview.fields
    assert not preview.tainted


async def test_a_status_shows_its_fields_only(bench: Bench) -> None:
    """What else differs on the source is not our change."""
    bench.server.put(WIDGET, "w", spec={"size": 1})
    shown = await forecast(bench, planned(status=bench.status(value={"ready": True})))
    (preview,) = shown.previews
    assert preview.operation == "update"
    assert preview.fields
    assert all(path.startswith("status") for path in preview.fields)
