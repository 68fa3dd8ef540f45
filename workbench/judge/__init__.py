"""Was a summary good enough? Questions about what it replaced, asked of a model that has only the summary."""
