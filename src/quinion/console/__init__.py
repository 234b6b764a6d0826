"""Console: web pages on the running engine.

An adapter like the servers. It calls their tools, as the commands do, and renders the answers; each
view is also JSON. Nothing of it is imported before the first request (`site`).
"""
