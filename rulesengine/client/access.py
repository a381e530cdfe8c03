"""From a kubeconfig or a pod's service account to what a connection needs.

The one door to kubernetes.aio: its loaders know the formats, exec plugins, OIDC and
relative paths, its RESTClientObject makes the TLS context. Everything else of that library
(typed models, its session, its retries) stays outside.

Order: --kubeconfig, $KUBECONFIG, the pod's service account, ~/.kube/config.
"""

from __future__ import annotations

import hashlib
import ipaddress
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kubernetes.aio.client import Configuration
from kubernetes.aio.client.rest import RESTClientObject
from kubernetes.aio.config import ConfigException, load_incluster_config, load_kube_config

from rulesengine.core.errors import UsageError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
EXPIRY_MARGIN = timedelta(minutes=5)  # the loader's own: it runs a plugin again this long before


@dataclass(frozen=True, slots=True)
class Access:
    """Where the server is and how to be known to it.

    `fingerprint` is equal as long as open connections may be kept: only the token may differ.
    `where` names the source of it for people.
    """

    server: str
    where: str
    authorization: str = ""
    tls: ssl.SSLContext | None = None
    server_hostname: str | None = None
    proxy: str | None = None
    fingerprint: bytes = b""
    expires: datetime | None = None


@dataclass(frozen=True, slots=True)
class Login:
    """One way in, which can be taken again when credentials run out or files change.

    `kubeconfig` empty: the pod's service account.
    """

    kubeconfig: str = ""
    context: str | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)

    async def load(self) -> Access:
        """Reads files and runs credential plugins; raises UsageError with one message."""
        configuration = Configuration()
        expires = None
        if self.kubeconfig:
            expires = await self._from_kubeconfig(configuration)
        else:
            self._from_service_account(configuration)
        return self._access(configuration, expires)

    @property
    def where(self) -> str:
        if not self.kubeconfig:
            return "the pod's service account"
        return f"{self.kubeconfig}, context {self.context}" if self.context else self.kubeconfig

    def watched_files(self) -> tuple[Path, ...]:
        """Files whose change means that access is to be loaded again."""
        if self.kubeconfig:
            return tuple(Path(name).expanduser() for name in self.kubeconfig.split(os.pathsep) if name)
        return (SERVICE_ACCOUNT / "token", SERVICE_ACCOUNT / "ca.crt")

    async def _from_kubeconfig(self, configuration: Any) -> datetime | None:
        missing = [str(path) for path in self.watched_files() if not path.is_file()]
        if len(missing) == len(self.watched_files()):
            raise UsageError(f"there is no kubeconfig at {', '.join(missing)}")
        try:
            loader = await load_kube_config(
                config_file=self.kubeconfig,
                context=self.context,
                client_configuration=configuration,
                persist_config=False,
            )
        except ConfigException as error:
            raise UsageError(f"the kubeconfig {self.where} cannot be used: {error}") from error
        except Exception as error:
            # the loader lets through whatever its YAML parser and file reads raise, and those
            # messages quote the file, which holds credentials
            what = type(error).__name__
            raise UsageError(f"the kubeconfig {self.where} cannot be read ({what})") from error
        user = loader._user  # noqa: SLF001 - the loader keeps no public trace of which way it took
        if user and "exec" in user and not configuration.api_key and not configuration.cert_file:
            raise UsageError(
                f"the credential plugin {user['exec'].safe_get('command')} of {self.where} gave neither a "
                "token nor a certificate; run it by hand to see why"
            )
        expires: datetime | None = getattr(loader, "exec_plugin_expiry", None)
        return expires

    def _from_service_account(self, configuration: Any) -> None:
        try:
            load_incluster_config(client_configuration=configuration, try_refresh_token=False)
        except (ConfigException, OSError) as error:
            raise UsageError(f"the pod's service account cannot be used: {error}") from error

    def _access(self, configuration: Any, expires: datetime | None) -> Access:
        server = str(configuration.host).rstrip("/")
        if not urlsplit(server).hostname:
            raise UsageError(f"the kubeconfig {self.where} names no server address")
        tls = None
        if server.startswith("https:"):
            try:
                tls = RESTClientObject(configuration).ssl_context
            except (ssl.SSLError, OSError) as error:
                raise UsageError(f"the certificates of {self.where} cannot be used: {error}") from error
        proxy = configuration.proxy or proxy_for(server, self.environ)
        return Access(
            server=server,
            where=self.where,
            authorization=configuration.api_key.get("BearerToken", ""),
            tls=tls,
            server_hostname=configuration.tls_server_name,
            proxy=proxy,
            fingerprint=_fingerprint(configuration, server, proxy),
            expires=expires,
        )


def find_login(
    kubeconfig: str | Path | None = None, context: str | None = None, environ: Mapping[str, str] = os.environ
) -> Login:
    """The first way in that is there; raises UsageError when there is none."""
    if kubeconfig:
        return Login(str(kubeconfig), context, environ)
    if environ.get("KUBECONFIG"):
        return Login(environ["KUBECONFIG"], context, environ)
    default = Path(environ.get("HOME") or "~").expanduser() / ".kube" / "config"
    in_pod = environ.get("KUBERNETES_SERVICE_HOST") and (SERVICE_ACCOUNT / "token").is_file()
    if in_pod and not context:
        return Login(environ=environ)
    if default.is_file():
        return Login(str(default), context, environ)
    raise UsageError(
        "no cluster to talk to: there is no --kubeconfig, no $KUBECONFIG, no service account of a pod "
        f"and no {default}. `rulesengine run --embedded` and `rulesengine demo` need none"
    )


def is_due(access: Access, now: datetime) -> bool:
    """Whether a credential plugin's credentials are about to run out."""
    return access.expires is not None and access.expires - EXPIRY_MARGIN <= now.astimezone(UTC)


def proxy_for(server: str, environ: Mapping[str, str]) -> str | None:
    """The proxy that the environment names for this server, looked up once instead of per request."""
    parts = urlsplit(server)
    lowered = {key.lower(): value for key, value in environ.items() if value}
    proxy = lowered.get(f"{parts.scheme}_proxy") or lowered.get("all_proxy")
    if not proxy:
        return None
    return None if _bypasses(parts.hostname or "", parts.netloc, lowered.get("no_proxy", "")) else proxy


def _bypasses(host: str, address: str, exceptions: str) -> bool:
    """Whether NO_PROXY names the host: exactly, as a domain above it, as a network, or by `*`."""
    for entry in (e.strip().lower() for e in exceptions.split(",")):
        if entry == "*" or entry in (host, address):
            return True
        if entry and not _is_ip(host) and host.endswith(f".{entry.lstrip('.')}"):
            return True
        if "/" in entry and _is_ip(host) and _within(host, entry):
            return True
    return False


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _within(host: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def _fingerprint(configuration: Any, server: str, proxy: str | None) -> bytes:
    known = hashlib.sha256()
    facts = (server, proxy, configuration.tls_server_name, configuration.verify_ssl)
    known.update(repr(facts).encode())
    for name in (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file):
        known.update(Path(name).read_bytes() if name else b"\0")
        known.update(b"\0")
    return known.digest()
