"""From kubeconfigs and service accounts to a way in, with messages that help and tell no secrets."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from kubernetes.aio.config import incluster_config

from rulesengine.client import access as access_module
from rulesengine.client.access import Login, find_login, is_due, proxy_for
from rulesengine.core.errors import UsageError


def kubeconfig(
    tmp_path: Path, user: dict[str, Any] | None = None, name: str = "config", **cluster: Any
) -> Path:
    """A kubeconfig with contexts `a` (the current one) and `b`."""
    path = tmp_path / name
    path.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "a",
                "clusters": [
                    {"name": "a", "cluster": {"server": "http://a.example:1/", **cluster}},
                    {"name": "b", "cluster": {"server": "http://b.example:2"}},
                ],
                "users": [{"name": "u", "user": user or {"token": "s3cret"}}],
                "contexts": [
                    {"name": "a", "context": {"cluster": "a", "user": "u"}},
                    {"name": "b", "context": {"cluster": "b", "user": "u"}},
                ],
            }
        )
    )
    return path


async def test_the_flag_goes_before_the_variable_before_the_pod_before_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of the four is used only when those before it are not there."""
    home = tmp_path / ".kube"
    home.mkdir()
    default = kubeconfig(home)
    account = tmp_path / "account"
    monkeypatch.setattr(access_module, "SERVICE_ACCOUNT", account)
    environ = {"HOME": str(tmp_path), "KUBECONFIG": "/x", "KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    assert find_login("/flag", None, environ).kubeconfig == "/flag"
    assert find_login(None, None, environ).kubeconfig == "/x"
    del environ["KUBECONFIG"]
    assert find_login(None, None, environ).kubeconfig == str(default)
    account.mkdir()
    (account / "token").write_text("t")
    assert find_login(None, None, environ).kubeconfig == ""
    assert find_login(None, "b", environ).kubeconfig == str(default)  # a context is of a kubeconfig


def test_no_way_in_says_what_was_looked_for(tmp_path: Path) -> None:
    """And what works without a cluster."""
    with pytest.raises(UsageError, match=r"no cluster to talk to.*\.kube/config.*--embedded"):
        find_login(None, None, {"HOME": str(tmp_path)})


async def test_a_context_can_be_chosen(tmp_path: Path) -> None:
    """The current one is the default."""
    path = kubeconfig(tmp_path)
    assert (await Login(str(path)).load()).server == "http://a.example:1"
    chosen = await Login(str(path), "b").load()
    assert chosen.server == "http://b.example:2"
    assert chosen.authorization == "Bearer s3cret"
    assert chosen.where == f"{path}, context b"


async def test_several_files_are_merged(tmp_path: Path) -> None:
    """As kubectl does with a KUBECONFIG of several; missing ones are left out."""
    path = kubeconfig(tmp_path)
    access = await Login(f"{tmp_path}/missing:{path}").load()
    assert access.server == "http://a.example:1"


async def test_a_missing_file_or_context_is_one_message(tmp_path: Path) -> None:
    """It names the file and what was looked for."""
    with pytest.raises(UsageError, match=r"there is no kubeconfig at .*/nowhere"):
        await Login(str(tmp_path / "nowhere")).load()
    with pytest.raises(UsageError, match=r"cannot be used: .*name zzz"):
        await Login(str(kubeconfig(tmp_path)), "zzz").load()


@pytest.mark.parametrize("text", ["{users: [{token: s3cret", "s3cret", "", "[1]", "\x00", "clusters: s3cret"])
async def test_a_broken_file_is_not_quoted(tmp_path: Path, text: str) -> None:
    """It holds credentials, and parsers like to show the line."""
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        await Login(str(path)).load()
    assert "s3cret" not in str(caught.value)
    assert str(path) in str(caught.value)


def plugin(tmp_path: Path, status: dict[str, Any] | None, code: int = 0) -> dict[str, Any]:
    """A credential plugin that answers with `status`."""
    said = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    script = tmp_path / "plugin"
    script.write_text(f"#!/bin/sh\necho '{json.dumps(said)}'\nexit {code}\n")
    script.chmod(0o755)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(script)}}


async def test_a_credential_plugin_is_run(tmp_path: Path) -> None:
    """Its token is used, and its expiry says when to run it again."""
    user = plugin(tmp_path, {"token": "fresh", "expirationTimestamp": "2026-01-05T09:00:00Z"})
    access = await Login(str(kubeconfig(tmp_path, user))).load()
    assert access.authorization == "Bearer fresh"
    assert not is_due(access, datetime(2026, 1, 5, 8, 54, tzinfo=UTC))
    assert is_due(access, datetime(2026, 1, 5, 8, 56, tzinfo=UTC))


async def test_a_failing_credential_plugin_is_said(tmp_path: Path) -> None:
    """Instead of asking the server without credentials."""
    path = kubeconfig(tmp_path, plugin(tmp_path, {}, code=1))
    with pytest.raises(UsageError, match=r"credential plugin .*/plugin .* run it by hand"):
        await Login(str(path)).load()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A key and a certificate of its own."""
    folder = tmp_path_factory.mktemp("tls")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=x", "-days", "2"]
    command += ["-keyout", str(folder / "key"), "-out", str(folder / "crt")]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "crt", folder / "key"


async def test_certificates_become_a_tls_context_and_a_fingerprint(
    tmp_path: Path, certificate: tuple[Path, Path]
) -> None:
    """The fingerprint changes with the CA or the client certificate, and with nothing else."""
    crt, key = certificate
    user = {"client-certificate": str(crt), "client-key": str(key)}
    plain = await Login(str(kubeconfig(tmp_path, user, server="https://a"))).load()
    again = await Login(str(kubeconfig(tmp_path, user, server="https://a"))).load()
    other = await Login(
        str(kubeconfig(tmp_path, user, server="https://a", **{"certificate-authority": str(crt)}))
    ).load()
    assert plain.tls is not None
    assert plain.fingerprint == again.fingerprint
    assert plain.fingerprint != other.fingerprint


async def test_an_unusable_certificate_is_said(tmp_path: Path) -> None:
    """With the kubeconfig it stands in."""
    bad = tmp_path / "bad.crt"
    bad.write_text("no certificate")
    path = kubeconfig(tmp_path, server="https://a", **{"certificate-authority": str(bad)})
    with pytest.raises(UsageError, match=r"the certificates of .*config cannot be used"):
        await Login(str(path)).load()


@pytest.mark.parametrize(
    ("server", "environ", "proxy"),
    [
        ("https://a.example", {}, None),
        ("https://a.example", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("http://a.example", {"HTTPS_PROXY": "http://p:1"}, None),
        ("https://a.example", {"all_proxy": "http://p:1"}, "http://p:1"),
        ("https://a.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "b, .example"}, None),
        ("https://a.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "xample"}, "http://p:1"),
        ("https://10.1.2.3:6443", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8"}, None),
        ("https://10.1.2.3:6443", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "11.0.0.0/8,x/y"}, "http://p:1"),
        ("https://a.example", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*"}, None),
        ("https://a.example", {"HTTPS_PROXY": ""}, None),
    ],
)
def test_the_proxy_is_looked_up_once(server: str, environ: dict[str, str], proxy: str | None) -> None:
    """From the environment as curl and Go read it."""
    assert proxy_for(server, environ) == proxy


async def test_a_kubeconfigs_proxy_goes_first(tmp_path: Path) -> None:
    """`proxy-url` of the cluster beats the environment."""
    path = kubeconfig(tmp_path, **{"proxy-url": "http://k:1"})
    access = await Login(str(path), None, {"HTTP_PROXY": "http://p:1"}).load()
    assert access.proxy == "http://k:1"


async def test_a_pods_service_account_is_a_way_in(
    tmp_path: Path, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Token and CA from its files, the address from its environment; read anew each time."""
    token = tmp_path / "token"
    token.write_text("one")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(certificate[0]))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    access = await Login(environ={}).load()
    assert access.server == "https://10.0.0.1:443"
    assert access.authorization == "bearer one"
    assert access.where == "the pod's service account"
    token.write_text("two")
    renewed = await Login(environ={}).load()
    assert renewed.authorization == "bearer two"
    assert renewed.fingerprint == access.fingerprint
    token.unlink()
    with pytest.raises(UsageError, match="the pod's service account cannot be used"):
        await Login(environ={}).load()


async def test_a_kubeconfig_without_an_address_is_said(tmp_path: Path) -> None:
    """Instead of asking some default."""
    path = kubeconfig(tmp_path, server="nothing")
    with pytest.raises(UsageError, match="names no server address"):
        await Login(str(path)).load()
