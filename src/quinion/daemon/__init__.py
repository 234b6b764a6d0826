"""One home, one engine: how the processes of a user share it.

`door` lets others in at the process that has the home; `attach` finds that door, or starts an
engine in the `background`; `greeting` is what both say first, `lines` how MCP goes over a socket;
`stdio` is the relay that desktop clients start.
"""
