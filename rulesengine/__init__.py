"""Declarative reconcile rules for Kubernetes."""

__version__ = "0.1.0"
