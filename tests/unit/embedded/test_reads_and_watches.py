"""Listing and watching: what clients build their caches on."""

from __future__ import annotations

import pytest

from tests.unit.embedded.fakes import CONFIG_MAPS, Api, config_map

ALL = "/api/v1/configmaps"


def filled(api: Api, count: int) -> list[str]:
    names = [f"m{number}" for number in range(count)]
    for name in names:
        api.create(CONFIG_MAPS, config_map(name, metadata={"labels": {"parity": str(int(name[1:]) % 2)}}))
    return names


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("parity=1", ["m1", "m3"]),
        ("parity==0", ["m0", "m2"]),
        ("parity!=0", ["m1", "m3"]),
        ("parity+in+(0,2)", ["m0", "m2"]),
        ("parity+notin+(0)", ["m1", "m3"]),
        ("parity", ["m0", "m1", "m2", "m3"]),
        ("!parity", []),
        ("parity=1,parity!=1", []),
        ("parity%3E0", ["m1", "m3"]),
    ],
)
def test_label_selectors_select_as_documented(api: Api, selector: str, expected: list[str]) -> None:
    """Equality, sets, existence and comparisons, alone and together."""
    filled(api, 4)
    assert api.names(f"{CONFIG_MAPS}?labelSelector={selector}") == expected


def test_a_selector_that_makes_no_sense_is_refused(api: Api) -> None:
    """400, and never everything."""
    for selector in ("a+b", "a=b,", "(", "a+in+b"):
        assert api.get(f"{CONFIG_MAPS}?labelSelector={selector}").status == 400, selector
    assert api.get(f"{CONFIG_MAPS}?fieldSelector=data.x=1").status == 400


def test_pages_show_one_moment(api: Api) -> None:
    """Writes between two pages do not show in the later one."""
    filled(api, 5)
    first = api.get(f"{CONFIG_MAPS}?limit=2").body
    assert first["metadata"]["remainingItemCount"] == 3
    api.delete(f"{CONFIG_MAPS}/m3")
    api.create(CONFIG_MAPS, config_map("m2b"))
    rest = api.get(f"{CONFIG_MAPS}?limit=9&continue={first['metadata']['continue']}").body
    assert [i["metadata"]["name"] for i in rest["items"]] == ["m2", "m3", "m4"]
    assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_a_page_too_old_is_expired(api: Api) -> None:
    """410 with reason Expired tells clients to list anew."""
    filled(api, 3)
    token = api.get(f"{CONFIG_MAPS}?limit=1").body["metadata"]["continue"]
    api.server.compact()
    api.create(CONFIG_MAPS, config_map("more"))
    api.server.compact()
    said = api.get(f"{CONFIG_MAPS}?limit=1&continue={token}")
    assert (said.status, said.body["reason"]) == (410, "Expired")


async def test_a_watch_goes_on_where_a_list_ended(api: Api) -> None:
    """Every change after the list's revision comes once, in order."""
    filled(api, 1)
    version = api.get(ALL).body["metadata"]["resourceVersion"]
    api.create(CONFIG_MAPS, config_map("late"))
    watch = api.watch(f"{ALL}?watch=true&resourceVersion={version}")
    api.patch(f"{CONFIG_MAPS}/late", {"data": {"a": "b"}})
    api.delete(f"{CONFIG_MAPS}/late")
    assert await watch.events(3) == [("ADDED", "late"), ("MODIFIED", "late"), ("DELETED", "late")]
    watch.close()


async def test_a_streaming_list_is_closed_by_its_bookmark(api: Api) -> None:
    """sendInitialEvents: what exists, then the annotated bookmark, then changes."""
    filled(api, 2)
    query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    watch = api.watch(f"{CONFIG_MAPS}?{query}")
    assert await watch.events(2) == [("ADDED", "m0"), ("ADDED", "m1")]
    kind, mark = await watch.next()
    assert kind == "BOOKMARK"
    assert mark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert mark["metadata"]["resourceVersion"] == api.get(CONFIG_MAPS).body["metadata"]["resourceVersion"]
    api.create(CONFIG_MAPS, config_map("new"))
    assert await watch.events(1) == [("ADDED", "new")]
    watch.close()


def test_a_streaming_list_needs_its_options(api: Api) -> None:
    """Without resourceVersionMatch it is refused as Invalid, which clients fall back from."""
    said = api.get(f"{CONFIG_MAPS}?watch=true&sendInitialEvents=true")
    assert (said.status, said.body["reason"]) == (422, "Invalid")


async def test_leaving_a_selection_is_a_deletion(api: Api) -> None:
    """A watch with a selector says DELETED and ADDED when labels change."""
    filled(api, 1)
    watch = api.watch(f"{CONFIG_MAPS}?watch=true&labelSelector=parity=0")
    assert await watch.events(1) == [("ADDED", "m0")]
    changed = api.patch(f"{CONFIG_MAPS}/m0", {"metadata": {"labels": {"parity": "1"}}}).body
    kind, gone = await watch.next()
    assert (kind, gone["metadata"]["labels"]) == ("DELETED", {"parity": "0"})
    assert gone["metadata"]["resourceVersion"] == changed["metadata"]["resourceVersion"]
    api.patch(f"{CONFIG_MAPS}/m0", {"metadata": {"labels": {"parity": "0"}}})
    assert await watch.events(1) == [("ADDED", "m0")]
    watch.close()


async def test_a_watch_from_before_compaction_is_expired(api: Api) -> None:
    """The first event is an ERROR with a 410 Status, and the watch ends."""
    filled(api, 2)
    api.server.compact()
    watch = api.watch(f"{CONFIG_MAPS}?watch=true&resourceVersion=2")
    [(kind, status)] = await watch.rest()
    assert (kind, status["code"], status["reason"]) == ("ERROR", 410, "Expired")


async def test_history_is_bounded(api: Api) -> None:
    """A server with a short memory answers 410 for what it dropped."""
    small = Api(history=3)
    filled(small, 6)
    [(kind, status)] = await small.watch(f"{CONFIG_MAPS}?watch=true&resourceVersion=6").rest()
    assert (kind, status["code"]) == ("ERROR", 410)


async def test_dropped_watches_end(api: Api) -> None:
    """As when a real server restarts: the stream just ends."""
    watch = api.watch(f"{CONFIG_MAPS}?watch=true")
    api.server.drop_watches()
    assert await watch.rest() == []


async def test_other_namespaces_are_not_heard(api: Api) -> None:
    """A namespaced watch hears its namespace only."""
    api.create("/api/v1/namespaces", {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "other"}})
    watch = api.watch(f"{CONFIG_MAPS}?watch=true")
    api.create("/api/v1/namespaces/other/configmaps", config_map("theirs"))
    api.create(CONFIG_MAPS, config_map("ours"))
    assert await watch.events(1) == [("ADDED", "ours")]
    watch.close()


def test_a_version_from_the_future_is_told_so(api: Api) -> None:
    """504 with the reason that client-go recognises."""
    said = api.get(f"{CONFIG_MAPS}?resourceVersion=99999")
    assert said.status == 504
    assert said.body["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
