"""`make cluster`: a small cluster for ten minutes, or as long as given, with parts killed."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import anyio

from quinion.embed.local.weights import prepare
from tests.cluster.harness import Size, measure, open_cluster
from tests.nginx_server import NGINX


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--servers", type=int, default=3)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--kill-each", type=float, default=10.0, metavar="SECONDS")
    given = parser.parse_args()
    if NGINX is None:
        print("nginx is missing: apt-get install nginx")
        return 2
    size = Size(given.servers, given.workers, given.clients, given.seconds, given.kill_each)
    with tempfile.TemporaryDirectory() as folder:
        models = Path(folder, "models")
        prepare(models)
        with open_cluster(size, Path(folder), models) as cluster:
            result = anyio.run(measure, cluster, size)
    print(f"{size}, {os.cpu_count()} cores")
    print("\n".join(result.lines()))
    print("\n".join(result.problems[:20]) or "All checks passed.")
    return 1 if result.problems else 0


if __name__ == "__main__":
    sys.exit(main())
