"""Handshake between two quinion processes: one JSON line each before MCP begins.

The client sends a `Hello`. The process that holds the home accepts it, replies that it is
shutting down (the client tries again), or refuses with an error.
"""

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from quinion.errors import BadSetting, HomeInUse, InvalidInput, QuinionError


@dataclass(frozen=True, slots=True)
class Hello:
    """Request of a client: its version, the server it wants, its settings and its folder.

    An empty `server` asks the process to shut down. `is_command` is true for quinion's own
    commands, which may call unlisted tools, and false for a relay, whose client may not.
    """

    version: str
    server: str = ""
    folder: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    is_command: bool = False

    def encode(self) -> bytes:
        """Serialize to one line."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, line: bytes) -> Self:
        """Parse a line.

        Raises:
            InvalidInput: the line is not a handshake.
        """
        try:
            return cls(**json.loads(line))
        except (ValueError, TypeError) as error:
            raise InvalidInput(f"Invalid handshake: not from quinion ({error}).") from error


@dataclass(frozen=True, slots=True)
class Reply:
    """Reply to a client: accepted, unless `leaving` or `error` is set."""

    leaving: bool = False
    error: str = ""
    code: str = ""

    @classmethod
    def refusing(cls, error: QuinionError) -> Self:
        """Make a reply that refuses the client with an error."""
        return cls(error=error.message, code=error.code)

    def encode(self) -> bytes:
        """Serialize to one line."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, line: bytes) -> Self:
        """Parse a line.

        Raises:
            HomeInUse: the line is not a reply; the holder of the home uses another protocol.
        """
        try:
            return cls(**json.loads(line))
        except (ValueError, TypeError) as error:
            raise HomeInUse("Another version of quinion uses this home. Stop it first.") from error

    def raise_error(self) -> None:
        """Raise the error of the reply, if there is one."""
        if self.error:
            kinds = {kind.code: kind for kind in (BadSetting, HomeInUse, InvalidInput)}
            raise kinds.get(self.code, QuinionError)(self.error)
