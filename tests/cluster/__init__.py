"""Several servers and workers on one machine, as a small cluster."""
