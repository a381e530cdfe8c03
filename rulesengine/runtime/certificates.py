"""Certificates of our own for the webhook, and when they are changed. The only door to cryptography.

Each certificate has an authority of its own whose key is thrown away at once: nothing is left with
which another one could be made. Old and new overlap: clients trust the next authority for a day
before a certificate of it is shown, and the last one until it ends. Pure but for the random keys.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = timedelta(days=90)
RENEW_AFTER = LIFETIME * 2 / 3
OVERLAP = timedelta(days=1)  # every engine and API server has read the next authority by then
EARLIER = timedelta(hours=1)  # for clocks that are behind ours


@dataclass(frozen=True, slots=True)
class Certificates:
    """What is kept in the Secret, as PEM. `authorities` are all to be trusted, the newest first.

    `shown` and `next` are certificate and key; `next` is ("", "") where none is waiting.
    """

    authorities: str
    shown: tuple[str, str]
    next: tuple[str, str] = ("", "")

    @classmethod
    def of(cls, data: Mapping[str, str]) -> Self | None:
        """From the Secret's fields; None for what cannot be used."""
        shown = (data.get("tls.crt", ""), data.get("tls.key", ""))
        following = (data.get("next.crt", ""), data.get("next.key", ""))
        found = cls(data.get("ca.crt", ""), shown, following)
        try:
            for text in (found.authorities, shown[0], *filter(None, following[:1])):
                x509.load_pem_x509_certificates(text.encode())
        except ValueError:
            return None
        return found if shown[1] else None

    def data(self) -> dict[str, str]:
        names = ("ca.crt", "tls.crt", "tls.key", "next.crt", "next.key")
        return dict(zip(names, (self.authorities, *self.shown, *self.next), strict=True))


def due(held: Certificates | None, names: Sequence[str], now: datetime) -> Certificates:
    """What shall be held now; the same as before where nothing is due."""
    if held is None:
        authority, issued = _issue(names, now)
        return Certificates(authority, issued)
    authorities = _living(held.authorities, now)
    shown = _read(held.shown[0])
    if held.next[0]:
        following = _read(held.next[0])
        if now >= following.not_valid_before_utc + EARLIER + OVERLAP or now >= shown.not_valid_after_utc:
            return Certificates(authorities, held.next)
        return Certificates(authorities, held.shown, held.next)
    old = now >= shown.not_valid_before_utc + EARLIER + RENEW_AFTER
    if not old and set(names) <= _names(shown):
        return Certificates(authorities, held.shown)
    authority, issued = _issue(names, now)
    if now >= shown.not_valid_after_utc:
        return Certificates(authority + authorities, issued)  # nobody is served by what ran out
    return Certificates(authority + authorities, held.shown, issued)


def _issue(names: Sequence[str], now: datetime) -> tuple[str, tuple[str, str]]:
    """An authority, and a certificate of it with its key."""
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    start, end = now - EARLIER, now + LIFETIME
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"rulesengine {start:%Y-%m-%dT%H:%M}")])
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "rulesengine webhook")])

    def builder(name: x509.Name, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .issuer_name(issuer)
            .subject_name(name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(start)
            .not_valid_after(end)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()),
                critical=False,
            )
        )

    authority = (
        builder(issuer, authority_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .sign(authority_key, SHA256())
    )
    certificate = (
        builder(subject, key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_name(each) for each in names]), critical=False)
        .sign(authority_key, SHA256())
    )
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return _pem(authority), (_pem(certificate), secret)


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _name(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _names(certificate: x509.Certificate) -> set[str]:
    found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return {str(name.value) for name in found}


def _living(authorities: str, now: datetime) -> str:
    found = x509.load_pem_x509_certificates(authorities.encode())
    return "".join(_pem(each) for each in found if now < each.not_valid_after_utc)


def _read(pem: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem.encode())


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode()
