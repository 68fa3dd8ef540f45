"""The built-in stand-in for a model: no AI, only rules and scripts; the same question always gets the same answer."""
