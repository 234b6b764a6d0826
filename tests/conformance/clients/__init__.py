"""Clients of other SDKs and versions, with a common scenario for each server.

`plan.py` defines the scenario; `client.mjs` and `client.py` run it, each in its language.
"""
