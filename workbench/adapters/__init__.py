"""Adapters: agents of other frameworks, recorded and planned under a policy. One file each, imported on demand."""
