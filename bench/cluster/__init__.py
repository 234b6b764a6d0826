"""Workers on one machine: how their number changes the throughput."""
