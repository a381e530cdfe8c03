"""Which failures are tried again, after how long, and which are the caller's at once."""

from __future__ import annotations

import pytest

from rulesengine.client import (
    JSON_PATCH,
    APIError,
    Client,
    Conflict,
    Retries,
    ServerError,
    TimedOut,
    TooManyRequests,
    Unreachable,
)
from tests.unit.client.scripted import CONFIG_MAPS, Scripted, Sleeps, ok, refused

RETRIES = Retries(attempts=3, first=1.0, longest=10.0, jitter=lambda: 0.0)


def client(*answers: object) -> tuple[Client, Scripted, Sleeps]:
    transport, sleeps = Scripted(list(answers)), Sleeps()  # type: ignore[arg-type]
    return Client(transport, retries=RETRIES, sleep=sleeps), transport, sleeps


async def test_an_overloaded_server_is_asked_again_when_it_says() -> None:
    """Retry-After of the header or of the Status's details goes before the client's own backoff."""
    c, t, sleeps = client(
        refused(429, "TooManyRequests", headers={"retry-after": "4"}),
        refused(429, "TooManyRequests", retryAfterSeconds=2),
        ok({"a": 1}),
    )
    assert await c.create(CONFIG_MAPS, "ns", {}) == b'{"a": 1}'
    assert sleeps.seconds == [4.0, 2.0]
    assert len(t.asked) == 3


async def test_patience_is_short() -> None:
    """After the attempts the error goes to the caller, with what the server asked for."""
    c, t, sleeps = client(refused(429, "TooManyRequests"))
    with pytest.raises(TooManyRequests):
        await c.get(CONFIG_MAPS, "ns", "a")
    assert len(t.asked) == 3
    assert sleeps.seconds == [1.0, 2.0]


async def test_a_long_retry_after_is_the_callers_business() -> None:
    """A worker is not held up for a minute; the queue can wait better."""
    c, t, sleeps = client(refused(429, "TooManyRequests", headers={"retry-after": "60"}))
    with pytest.raises(TooManyRequests) as caught:
        await c.get(CONFIG_MAPS, "ns", "a")
    assert caught.value.retry_after == 60.0
    assert (len(t.asked), sleeps.seconds) == (1, [])


@pytest.mark.parametrize("status", [502, 503, 504])
async def test_a_failing_gateway_is_tried_again_for_what_may_happen_twice(status: int) -> None:
    """Reads, applies and deletes are repeated; a creation or a JSON patch is not."""
    for call in (
        lambda c: c.get(CONFIG_MAPS, "ns", "a"),
        lambda c: c.apply(CONFIG_MAPS, "ns", "a", {}, field_manager="m"),
        lambda c: c.delete(CONFIG_MAPS, "ns", "a"),
    ):
        c, t, _ = client(refused(status), ok())
        await call(c)
        assert len(t.asked) == 2
    for call in (
        lambda c: c.create(CONFIG_MAPS, "ns", {}),
        lambda c: c.patch(CONFIG_MAPS, "ns", "a", [], content_type=JSON_PATCH),
    ):
        c, t, _ = client(refused(status), ok())
        with pytest.raises(ServerError):
            await call(c)
        assert len(t.asked) == 1


@pytest.mark.parametrize(
    "answer", [refused(500, "InternalError"), refused(409, "Conflict"), refused(403), refused(422)]
)
async def test_an_answer_is_an_answer(answer: object) -> None:
    """500 ("duplicate entries"), conflicts and refusals are not tried again."""
    c, t, sleeps = client(answer)
    with pytest.raises(APIError):
        await c.apply(CONFIG_MAPS, "ns", "a", {}, field_manager="m")
    assert (len(t.asked), sleeps.seconds) == (1, [])


async def test_a_conflict_goes_back_at_once() -> None:
    """409 is for the caller to decide."""
    c, _, _ = client(refused(409, "Conflict"), ok())
    with pytest.raises(Conflict):
        await c.apply(CONFIG_MAPS, "ns", "a", {}, field_manager="m")


async def test_a_cut_connection_is_tried_again_and_a_refused_one_is_not() -> None:
    """A kept-alive connection may be closed just then; a server that is down is down."""
    c, t, _ = client(Unreachable("cut"), ok())
    await c.apply(CONFIG_MAPS, "ns", "a", {}, field_manager="m")
    assert len(t.asked) == 2
    for error in (Unreachable("refused", sent=False), TimedOut("late")):
        c, t, _ = client(error)
        with pytest.raises(Unreachable):
            await c.get(CONFIG_MAPS, "ns", "a")
        assert len(t.asked) == 1
    c, t, _ = client(Unreachable("cut"), ok())
    with pytest.raises(Unreachable):
        await c.create(CONFIG_MAPS, "ns", {})
    assert len(t.asked) == 1
