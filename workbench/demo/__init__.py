"""The recorded demo session, and the script that records it."""
