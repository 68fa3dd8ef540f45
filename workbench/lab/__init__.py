"""Finds the best policy for an agent: replays whole sessions under each policy and compares the figures."""
