"""The program with a wall clock that is off: `python skewed.py SECONDS run …`."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta

from rulesengine.cli import main
from rulesengine.core.clock import SystemClock
from rulesengine.runtime import election

OFF = timedelta(seconds=float(sys.argv.pop(1)))


class Skewed(datetime):
    @classmethod
    def now(cls, tz: object = None) -> datetime:
        return datetime.now(UTC) + OFF


SystemClock.now = lambda _self: Skewed.now()  # type: ignore[method-assign]
election.datetime = Skewed  # type: ignore[misc]
main.main()
