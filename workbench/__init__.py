"""Workbench: see what the model sees."""
