"""Workbench: see what the model sees."""

__version__ = "0.1.0"
