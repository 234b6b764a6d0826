"""What the official conformance suite wants to find on a server, on one of ours.

The suite calls tools, resources and prompts with fixed names and wants fixed answers. They are
mounted on a `ContractServer` here, in the app that `build_app` makes for every server of
quinion, and nowhere else.
"""
