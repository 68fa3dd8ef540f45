"""Replays over many sources: which ones, in processes or on a cluster, with finished ones kept."""
