"""Copies of values with other fields, whatever makes their classes.

`dataclasses.replace` takes dataclasses alone and `msgspec.structs.replace` structs alone. Type checkers know the fields
of both, but only under the first name: so that is what they see.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from msgspec import Struct, structs

if TYPE_CHECKING:
    from dataclasses import replace as replace
else:

    def replace(value, /, **changes):
        """A copy of a struct or a dataclass with some fields changed."""
        make = structs.replace if isinstance(value, Struct) else dataclasses.replace
        return make(value, **changes)
