"""What two processes of quinion say to each other before MCP begins: one line each.

A client says what it is, and the process that has the home lets it in, says that it is about
to leave (so ask again), or refuses and says why.
"""

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from quinion.errors import BadSetting, HomeInUse, InvalidInput, QuinionError


@dataclass(frozen=True, slots=True)
class Hello:
    """A client: its version, the server that it wants, its settings, and the folder it is in.

    A client that wants no server wants the process to leave.
    """

    version: str
    server: str = ""
    folder: str = ""
    settings: dict[str, Any] = field(default_factory=dict)

    def encode(self) -> bytes:
        """As a line."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, line: bytes) -> Self:
        """From a line.

        Raises:
            InvalidInput: it is none.
        """
        try:
            return cls(**json.loads(line))
        except (ValueError, TypeError) as error:
            raise InvalidInput(f"This is no greeting of quinion's ({error}).") from error


@dataclass(frozen=True, slots=True)
class Reply:
    """What is answered: welcome, unless one of these is said."""

    leaving: bool = False
    error: str = ""
    code: str = ""

    @classmethod
    def refusing(cls, error: QuinionError) -> Self:
        """An error as a reply."""
        return cls(error=error.message, code=error.code)

    def encode(self) -> bytes:
        """As a line."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, line: bytes) -> Self:
        """From a line.

        Raises:
            HomeInUse: it is none: whoever has the home speaks another language.
        """
        try:
            return cls(**json.loads(line))
        except (ValueError, TypeError) as error:
            raise HomeInUse("Another version of quinion has the home; end it first.") from error

    def raise_error(self) -> None:
        """Raise the error that was replied, if one was."""
        if self.error:
            kinds = {kind.code: kind for kind in (BadSetting, HomeInUse, InvalidInput)}
            raise kinds.get(self.code, QuinionError)(self.error)
