"""A plug-in for Workbench: a format, a policy, a stage, a dialect, an agent, a tool, a theme and a hook."""
