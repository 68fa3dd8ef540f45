"""Adapters: agents of other frameworks, recorded and planned under a policy. One file each; none is imported unasked."""
