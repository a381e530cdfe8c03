"""Certificates over months: somebody trusts what is shown at every moment, and old keys go."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from cryptography import x509

from rulesengine.runtime.certificates import LIFETIME, OVERLAP, Certificates, due

NAMES = ("rulesengine-webhook.engine.svc", "127.0.0.1")
START = datetime(2026, 1, 5, 8, tzinfo=UTC)


def trusted(authorities: str, shown: str, now: datetime) -> bool:
    """Whether one of these authorities, still living, has signed it, and it is living too."""
    certificate = x509.load_pem_x509_certificate(shown.encode())
    if not certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc:
        return False
    for authority in x509.load_pem_x509_certificates(authorities.encode()):
        if authority.subject == certificate.issuer and now <= authority.not_valid_after_utc:
            certificate.verify_directly_issued_by(authority)
            return True
    return False


def test_what_is_shown_is_trusted_by_who_read_a_day_ago() -> None:
    """A year, looked at every six hours; API servers and engines may be a day behind, in either way."""
    held: Certificates | None = None
    past: list[Certificates] = []
    shown = set()
    now = START
    for _ in range(4 * 365):
        held = due(held, NAMES, now)
        past.append(held)
        shown.add(held.shown[0])
        for other in past[-4:]:
            assert trusted(held.authorities, other.shown[0], now)
            assert trusted(other.authorities, held.shown[0], now)
        assert len(x509.load_pem_x509_certificates(held.authorities.encode())) <= 3
        now += timedelta(hours=6)
    assert 5 <= len(shown) <= 8


def test_nothing_is_done_before_it_is_due() -> None:
    """The same is held, so nothing is written."""
    held = due(None, NAMES, START)
    assert due(held, NAMES, START + timedelta(days=59)) == held
    following = due(held, NAMES, START + timedelta(days=61))
    assert following.shown == held.shown
    assert following.next[0]
    assert due(following, NAMES, START + timedelta(days=61) + OVERLAP / 2) == following


def test_an_engine_that_slept_for_a_year_shows_a_new_one_at_once() -> None:
    """What ran out serves nobody."""
    held = due(None, NAMES, START)
    now = START + 4 * LIFETIME
    found = due(held, NAMES, now)
    assert trusted(found.authorities, found.shown[0], now)
    waiting = due(held, NAMES, START + timedelta(days=61))
    assert due(waiting, NAMES, now - 3 * LIFETIME + timedelta(hours=1)).shown == waiting.next


def test_other_names_are_another_certificate() -> None:
    """After the usual overlap."""
    held = due(None, NAMES, START)
    found = due(held, (*NAMES, "other"), START + timedelta(hours=1))
    assert found.shown == held.shown
    assert found.next[0]


def test_what_is_kept_comes_back_and_damage_is_seen() -> None:
    """As fields of a Secret."""
    held = due(None, NAMES, START)
    assert Certificates.of(held.data()) == held
    assert Certificates.of({}) is None
    assert Certificates.of(held.data() | {"tls.crt": "x"}) is None
    assert Certificates.of(held.data() | {"tls.key": ""}) is None
