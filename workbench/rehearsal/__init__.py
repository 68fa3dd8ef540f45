"""The built-in rehearsal model: no AI, only rules and scripts; the same question always gets the same answer."""
