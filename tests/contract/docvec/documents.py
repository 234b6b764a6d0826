"""Documents of each format, small enough that what becomes of them is known to the line."""

MARKDOWN = """\
---
title: Handbook
---

What stands before the first heading is kept as well.

# Configuration

All settings are environment variables.

## Authentication Configuration

To configure authentication, set AUTH_PROVIDER to oauth2 or jwt.

```sh
# not a heading
export AUTH_PROVIDER=jwt
```

## Storage

| setting | meaning |
|---|---|
| DATA_DIR | where the files are kept |
"""

CODE = '''\
"""Talks to a server that may be slow."""

import time

RETRIES = 3


class Client:
    """Knows one server."""

    @staticmethod
    def open(address):
        """Open a connection to the address."""
        return address

    def send(self, message):
        """Send a message, and try again when nobody answers."""
        for attempt in range(RETRIES):
            time.sleep(2**attempt)


def close(connection):
    """Close the connection, whoever opened it."""
    return connection
'''

TEXT = """\
Minutes of the gardening club, twelfth of May.

The club decided to plant two apple trees beside the old gate.

The treasurer reported that forty pounds are left for the year.
"""

PAGES = (
    "The first page is about the migration of the arctic tern.\n"
    "It flies from one end of the earth to the other and back each year.",
    "The second page is about the salmon, which goes back to its own river.",
    "The third page is about the eel, which does it the other way round.",
)
