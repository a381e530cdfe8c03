"""`now`: every answer about it comes with the moment at which it would be another."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulesengine import cel

START = datetime(2026, 1, 5, 8, 30, 0, tzinfo=UTC)
ENV = cel.Env({"now": cel.types.TIMESTAMP})


def answer(text, when=START):
    """The value of an expression at a moment, and when it may change."""
    moments = cel.Moments(when)
    value = cel.compile(text, ENV).evaluate({"now": cel.present(moments)})
    return value, moments.soonest


@pytest.mark.parametrize(
    ("text", "value", "turns"),
    [
        ("now > timestamp('2026-01-05T09:00:00Z')", False, "2026-01-05T09:00:00"),
        ("timestamp('2026-01-05T09:00:00Z') <= now", False, "2026-01-05T09:00:00"),
        ("now >= timestamp('2026-01-05T08:00:00Z')", True, None),
        ("now - timestamp('2026-01-05T08:00:00Z') > duration('1h')", False, "2026-01-05T09:00:00"),
        ("timestamp('2026-01-05T10:00:00Z') - now < duration('1h')", False, "2026-01-05T09:00:00"),
        ("now + duration('24h') > timestamp('2026-01-07T00:00:00Z')", False, "2026-01-06T00:00:00"),
        ("now == timestamp('2026-01-05T09:00:00Z')", False, "2026-01-05T09:00:00"),
        ("now == timestamp('2026-01-05T08:30:00Z')", True, "2026-01-05T08:30:00.000001"),
        ("now - now > duration('1s')", False, None),
        ("now.getHours() == 8", True, "2026-01-05T09:00:00"),
        ("now.getHours('America/Los_Angeles') >= 9", False, "2026-01-05T09:00:00"),
        ("now.getHours('Asia/Kolkata') == 14", True, "2026-01-05T09:30:00"),
        ("now.getHours('+05:45') == 14", True, "2026-01-05T09:15:00"),
        ("now.getDayOfWeek('America/Los_Angeles') == 1", True, "2026-01-06T08:00:00"),
        ("now.getDate() == 5", True, "2026-01-06T00:00:00"),
        ("now.getMonth() == 0", True, "2026-02-01T00:00:00"),
        ("now.getFullYear() == 2026", True, "2027-01-01T00:00:00"),
        ("now.getMinutes() == 30", True, "2026-01-05T08:31:00"),
        ("(now - timestamp('2026-01-05T08:00:00Z')).getHours() == 0", True, "2026-01-05T09:00:00"),
        ("(timestamp('2026-01-05T10:10:00Z') - now).getMinutes() == 100", True, "2026-01-05T08:30:00.000001"),
        ("string(now) == ''", False, None),
        ("now.getMilliseconds() == 0", True, None),
        (
            "now > timestamp('2026-01-05T12:00:00Z') || now > timestamp('2026-01-05T11:00:00Z')",
            False,
            "2026-01-05T11:00:00",
        ),
        (
            "now > timestamp('2026-01-05T08:00:00Z') || now > timestamp('2026-01-05T11:00:00Z')",
            True,
            None,
        ),
    ],
)
def test_the_moment_is_noted(text, value, turns):
    """Of what was really asked; what was not evaluated does not count."""
    expected = datetime.fromisoformat(turns).replace(tzinfo=UTC) if turns else None
    assert answer(text) == (value, expected)


def test_a_zone_that_puts_its_clocks_forward_or_back():
    """The hour of an instant changes at the shift itself."""
    before = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)  # 01:30 in Berlin; at 02:00 it is 03:00
    text = "now.getHours('Europe/Berlin') < 3"
    assert answer(text, before) == (True, datetime(2026, 3, 29, 1, 0, tzinfo=UTC))
    assert answer(text, datetime(2026, 3, 29, 1, 0, tzinfo=UTC))[0] is False
    back = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)  # 02:30 for the first time
    value, turns = answer("now.getHours('Europe/Berlin') == 2", back)
    assert (value, turns) == (True, datetime(2026, 10, 25, 1, 0, tzinfo=UTC))


TEXTS = (
    "now > timestamp('2026-03-29T01:00:00Z')",
    "now.getHours('Europe/Berlin') >= 9 && now.getHours('Europe/Berlin') < 17",
    "now.getDayOfWeek('America/New_York') in [1, 2, 3, 4, 5]",
    "(timestamp('2026-03-29T10:00:00Z') - now).getHours() % 2 == 0",
    "now.getDayOfMonth('Australia/Lord_Howe') == 3 || now.getMinutes('Australia/Lord_Howe') == 30",
    "now - timestamp('2026-03-28T00:00:00Z') <= duration('36h')",
)


@given(
    st.sampled_from(TEXTS),
    st.datetimes(datetime(2026, 3, 27), datetime(2026, 4, 6)),  # noqa: DTZ001 - both zones shift here
    st.floats(0.0, 1.0),
)
def test_nothing_changes_before_the_moment(text, start, part):
    """Between a moment and the next one that was noted, every answer is the same."""
    start = start.replace(tzinfo=UTC)
    value, turns = answer(text, start)
    end = turns or start + timedelta(days=30)
    between = start + (end - start) * part
    if between < end:
        assert answer(text, between)[0] == value
    if turns is not None:
        assert turns > start
