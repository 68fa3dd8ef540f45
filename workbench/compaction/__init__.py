"""Summarising the past: when, which part, how, what was lost, and how to undo it."""
