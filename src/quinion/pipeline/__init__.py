"""The compositions, the engine that they work on, and the worker processes."""
