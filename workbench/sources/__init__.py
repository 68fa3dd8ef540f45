"""The sources: our own sessions, files, other agents' sessions, recorded requests and their plans."""
