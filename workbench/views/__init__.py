"""Frozen values that describe a session, for the screen and the command line."""
