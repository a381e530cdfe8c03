"""Schedules, and where `now` may stand."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from rulesengine.compiler.schedule import Every, NoSchedule, cron, every
from tests.unit.compiler.rules import compiled, data, problems

MONDAY = datetime(2026, 1, 5, 8, 30, tzinfo=UTC)


def following(text, when=MONDAY, zone=UTC, count=1):
    """The next times of a schedule, as text."""
    found = []
    for _ in range(count):
        when = cron(text, zone).after(when, 0)
        found.append(when.strftime("%Y-%m-%dT%H:%M"))
    return found


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("0 9 * * *", ["2026-01-05T09:00", "2026-01-06T09:00"]),
        ("30 8 * * *", ["2026-01-06T08:30", "2026-01-07T08:30"]),
        ("*/20 8 * * *", ["2026-01-05T08:40", "2026-01-06T08:00"]),
        ("0 9,17 * * 1-5", ["2026-01-05T09:00", "2026-01-05T17:00", "2026-01-06T09:00"]),
        ("0 0 * * sat", ["2026-01-10T00:00", "2026-01-17T00:00"]),
        ("0 0 * * 7", ["2026-01-11T00:00"]),
        ("0 0 13 * 5", ["2026-01-09T00:00", "2026-01-13T00:00", "2026-01-16T00:00"]),
        ("0 0 */31 * 5", ["2026-05-01T00:00"]),
        ("0 0 29 feb *", ["2028-02-29T00:00", "2032-02-29T00:00"]),
        ("50/5 8 * * *", ["2026-01-05T08:50", "2026-01-05T08:55", "2026-01-06T08:50"]),
        ("@monthly", ["2026-02-01T00:00"]),
    ],
)
def test_the_next_times(text, times):
    """As cron has them: both day fields restricted means either of them."""
    assert following(text, count=len(times)) == times


def test_a_schedule_follows_the_clocks_of_its_zone():
    """A time in the gap comes right behind it; a time that comes twice counts the first time."""
    berlin = ZoneInfo("Europe/Berlin")
    gap = datetime(2026, 3, 28, 12, tzinfo=UTC)
    assert following("30 2 * * *", gap, berlin, 2) == ["2026-03-29T01:30", "2026-03-30T00:30"]
    twice = datetime(2026, 10, 24, 12, tzinfo=UTC)
    assert following("30 2 * * *", twice, berlin, 2) == ["2026-10-25T00:30", "2026-10-26T01:30"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "* * * *",
        "60 * * * *",
        "* 24 * * *",
        "5-1 * * * *",
        "*/0 * * * *",
        "a * * * *",
        "0 0 30 2 *",
        "1,, * * * *",
    ],
)
def test_what_is_no_schedule_says_so(text):
    """Never a schedule that nobody meant."""
    with pytest.raises(NoSchedule):
        cron(text)


def test_an_interval_spreads_the_work_items():
    """Each comes once in every interval, at a place of its own."""
    hourly = every("1h")
    assert hourly == Every(3600.0)
    firsts = [hourly.after(MONDAY, spread) for spread in range(0, 1_000_000, 250_000)]
    assert len(set(firsts)) == 4
    for spread, first in zip(range(0, 1_000_000, 250_000), firsts, strict=True):
        assert MONDAY < first <= MONDAY + timedelta(hours=1)
        assert hourly.after(first, spread) == first + timedelta(hours=1)
    with pytest.raises(NoSchedule):
        every("10ms")


def test_now_is_for_conditions():
    """Variables, match conditions and includeWhen may read it; the rule knows that it does."""
    late = "now > timestamp(object.metadata.creationTimestamp) + duration('1h')"
    spec = f'  matchConditions: [{{name: a, expression: "{late}"}}]\n'
    assert compiled(spec).reads_now
    assert not compiled("  matchConditions: [{name: a, expression: 'true'}]\n").reads_now
    spec = f'  variables: [{{name: late, expression: "{late}"}}]\n' + data("{a: x}").replace(
        "  - name: made\n", "  - name: made\n    includeWhen: [variables.late]\n"
    )
    assert compiled(spec).reads_now


def test_now_is_not_written():
    """Neither directly nor through a variable, nor into a status."""
    assert problems(data("{a: '${string(now)}'}"))[0] == [("RE327", 12, 27)]
    spec = "  variables: [{name: at, expression: string(now)}]\n" + data("{a: '${variables.at}'}")
    assert [code for code, _, _ in problems(spec)[0]] == ["RE327"]
    spec = "  sourceStatus: {value: {message: '${string(now)}'}}\n"
    assert [code for code, _, _ in problems(spec)[0]] == ["RE327"]


def test_a_resync_is_compiled_and_its_mistakes_are_found():
    """An interval or a schedule, in a zone that exists."""
    assert compiled("  resync: {interval: 90m}\n").resync == Every(5400.0)
    zoned = compiled('  resync: {schedule: "0 7 * * 1-5", timeZone: Europe/Berlin}\n').resync
    assert zoned == cron("0 7 * * 1-5", ZoneInfo("Europe/Berlin"))
    for spec in (
        "{interval: 1ms}",
        "{interval: 1h, timeZone: UTC}",
        "{schedule: nope}",
        '{schedule: "0 7 * * *", timeZone: ../etc/passwd}',
    ):
        assert [code for code, _, _ in problems(f"  resync: {spec}\n")[0]] == ["RE328"]
