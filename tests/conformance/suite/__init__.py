"""Fixtures of the official conformance suite on a quinion server.

The suite calls tools, resources and prompts with fixed names and expects fixed answers. They are
mounted on a `ContractServer` here, in the app that `build_app` creates for every server of
quinion, and nowhere else.
"""
