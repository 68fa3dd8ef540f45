"""Checks that a policy, a format or a dialect of somebody else's can run on itself. Ours run them, too.

Each raises `ConformanceError`, an AssertionError, with what was promised, the case, and what happened instead. None of
them needs a test framework.
"""

from __future__ import annotations

from workbench.testing.cases import ConformanceError, random_conversation
from workbench.testing.dialect_checks import check_dialect
from workbench.testing.format_checks import check_format
from workbench.testing.policy_checks import check_policy

__all__ = ("ConformanceError", "check_dialect", "check_format", "check_policy", "random_conversation")
