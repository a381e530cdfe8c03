"""A cluster for tests and demos: what a user does with kubectl, without processes or sockets."""

from rulesengine.testing.cluster import Cluster, in_process

__all__ = ["Cluster", "in_process"]
