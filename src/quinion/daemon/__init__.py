"""Engine sharing: one engine per home, used by all processes of a user.

- `socket_server`: the process that holds the home serves other processes on a Unix socket.
- `client`: connects to that socket, or starts an engine in the `background`.
- `handshake`: the first line that each side sends.
- `jsonrpc_stream`: MCP messages over a socket.
- `relay`: the relay that desktop clients start.
"""
