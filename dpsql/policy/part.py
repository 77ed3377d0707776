"""What do all parts of a policy have in common?"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """A frozen part of a policy; a key it does not know is a fault, and nothing is converted in silence."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, arbitrary_types_allowed=False)
