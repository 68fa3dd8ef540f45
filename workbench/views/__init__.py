"""Frozen values for whoever shows a session."""
