"""The library: what `import workbench` gives. Plans, contexts of a loop, and sessions, for other people's programs."""
