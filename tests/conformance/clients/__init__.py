"""Clients of other SDKs and versions, and what they do with each server.

`plan.py` says what is done, `client.mjs` and `client.py` do it, each once for its language.
"""
