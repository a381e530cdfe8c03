"""The admission webhook: served by every engine, its certificates kept by the one that leads.

Certificates are ours, kept in a Secret and read again every hour, or mounted files
(`webhook-certificates`), whose keeper also tells the server whom to trust.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
import os
import ssl
import tempfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from rulesengine.api import GROUP, VERSION
from rulesengine.client import AlreadyExists, APIError, Client, Conflict, NotFound
from rulesengine.core import json
from rulesengine.core.errors import UsageError
from rulesengine.core.json import Object
from rulesengine.core.kinds import GroupVersionKind, ResourceType
from rulesengine.core.settings import Settings
from rulesengine.runtime.certificates import Certificates, due
from rulesengine.runtime.rule_object import MANAGER
from rulesengine.runtime.secret import SECRETS

logger = logging.getLogger(__name__)

NAME = "rulesengine"  # of the ValidatingWebhookConfiguration
HOOK = "rules.rulesengine.dev"
SERVICE = "rulesengine-webhook"
SECRET = "rulesengine-webhook"  # noqa: S105 - the name of one
PATH = "/validate"
OFTEN, SELDOM = 5.0, 3600.0  # seconds between looks, while there is no certificate and afterwards
CONFIGURATIONS = ResourceType(
    GroupVersionKind("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration"),
    "validatingwebhookconfigurations",
    namespaced=False,
)


def host_names(settings: Settings) -> tuple[str, ...]:
    """Whom the certificate is for: the Service within the cluster, and this machine."""
    inside = f"{SERVICE}.{settings.namespace}.svc"
    return (inside, f"{inside}.cluster.local", "localhost", "127.0.0.1")


def configuration(client: Object) -> Object:
    """The ValidatingWebhookConfiguration; `client` says where the API server finds the webhook.

    It is asked about a rule's spec only: status, finalizers, annotations and deletes never wait for
    it. Where it does not answer a rule is let in, and the engine says on the rule what is wrong.
    """
    rules: Object = {
        "apiGroups": [GROUP],
        "apiVersions": [VERSION],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["clusterrules", "rules"],
        "scope": "*",
    }
    changed = "oldObject == null || object.spec != oldObject.spec"
    conditions = {"spec-changes": changed, "stays": "!has(object.metadata.deletionTimestamp)"}
    hook: Object = {
        "name": HOOK,
        "admissionReviewVersions": ["v1"],
        "clientConfig": client,
        "failurePolicy": "Ignore",
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "timeoutSeconds": 5,
        "rules": [rules],
        "matchConditions": [{"name": name, "expression": text} for name, text in conditions.items()],
    }
    kind = CONFIGURATIONS.gvk
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": NAME},
        "webhooks": [hook],
    }


class Keeper:
    """Keeps `context` supplied. `leading` says whether this engine may write."""

    def __init__(
        self,
        client: Client,
        settings: Settings,
        leading: Callable[[], bool],
        now: Callable[[], datetime],
    ) -> None:
        self._client = client
        self._settings = settings
        self._leading = leading
        self._now = now
        self._stamp: tuple[float, ...] = ()
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.loaded = asyncio.Event()  # there is a certificate to show

    async def run(self) -> None:
        """Until cancelled. What fails is said and tried again."""
        while True:
            try:
                ready = self._look_at_files() if self._settings.webhook_certificates else await self._look()
            except (APIError, UsageError) as error:
                logger.warning("the webhook's certificates could not be kept", extra={"error": error})
                ready = False
            await asyncio.sleep(SELDOM if ready and not self._settings.webhook_certificates else OFTEN)

    # --- mounted ---

    def _look_at_files(self) -> bool:
        folder = Path(self._settings.webhook_certificates)
        try:
            stamp = tuple((folder / name).stat().st_mtime for name in ("tls.crt", "tls.key"))
            if stamp != self._stamp:
                self.context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
                self._stamp = stamp
                self.loaded.set()
        except (OSError, ssl.SSLError) as error:
            said = error.strerror or "they do not belong together"
            extra = {"folder": str(folder), "error": said}
            logger.warning("the webhook's certificates cannot be read", extra=extra)
            return False
        return True

    # --- our own ---

    async def _look(self) -> bool:
        """Reads them, makes what is due where this engine leads, and shows them; whether all is well."""
        body, held = await self._read()
        wanted = held
        if self._leading():
            wanted = due(held, host_names(self._settings), self._now())
            if wanted != held:
                await self._write(body, wanted)
            await self._trust(wanted)
        if wanted is None:
            return False
        self._show(*wanted.shown)
        return True

    async def _read(self) -> tuple[Object | None, Certificates | None]:
        try:
            raw = await self._client.get(SECRETS, self._settings.namespace, SECRET)
        except NotFound:
            return None, None
        body = json.decode_object(raw)
        fields = body.get("data") or {}
        try:
            data = {name: base64.b64decode(text, validate=True).decode() for name, text in fields.items()}
        except (binascii.Error, ValueError, TypeError):
            data = {}
        return body, Certificates.of(data)

    async def _write(self, before: Object | None, wanted: Certificates) -> None:
        data = {name: base64.b64encode(text.encode()).decode() for name, text in wanted.data().items()}
        space = self._settings.namespace
        try:
            if before is not None:
                await self._client.replace(
                    SECRETS, space, SECRET, before | {"data": data}, field_manager=MANAGER
                )
            else:
                body: Object = {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": data}
                body["metadata"] = {"name": SECRET, "namespace": space}
                await self._client.create(SECRETS, space, body, field_manager=MANAGER)
        except (Conflict, AlreadyExists):
            logger.info("the webhook's certificates were changed by another", extra={"secret": SECRET})
            raise
        logger.info("the webhook's certificates were renewed", extra={"secret": SECRET})

    async def _trust(self, wanted: Certificates) -> None:
        """Tells the API server whom to trust, where it does not know already."""
        bundle = base64.b64encode(wanted.authorities.encode()).decode()
        try:
            body = json.decode_object(await self._client.get(CONFIGURATIONS, "", NAME))
        except NotFound:
            return  # nobody asks us; `rulesengine install` prints it
        hooks = [hook for hook in body.get("webhooks") or () if hook.get("name") == HOOK]
        if not hooks or hooks[0]["clientConfig"].get("caBundle") == bundle:
            return
        hooks[0]["clientConfig"]["caBundle"] = bundle
        await self._client.replace(CONFIGURATIONS, "", NAME, body, field_manager=MANAGER)

    def _show(self, certificate: str, key: str) -> None:
        # the ssl module reads certificates from files only
        with tempfile.TemporaryDirectory(prefix="rulesengine-") as folder:
            paths = Path(folder, "tls.crt"), Path(folder, "tls.key")
            for path, text in zip(paths, (certificate, key), strict=True):
                with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                    file.write(text)
            try:
                self.context.load_cert_chain(*paths)
            except ssl.SSLError as error:
                raise UsageError(f"Secret {SECRET} holds a certificate and a key that do not fit") from error
        self.loaded.set()
