"""A Kubernetes API server in the process: for trying rules, for tests of rules, for our own tests."""

from rulesengine.embedded.http import Serving, serve
from rulesengine.embedded.server import Server
from rulesengine.embedded.transport import InProcess

__all__ = ["InProcess", "Server", "Serving", "serve"]
