"""Everything that has to stay fast, and one table of it: `python tests/benchmarks`, or `make bench`."""

from __future__ import annotations

import asyncio

import bench_checkpoints
import bench_import
import bench_search
from measures import print_table


async def measure() -> None:
    print_table([*await bench_checkpoints.measure(), *await bench_search.measure()])


bench_import.measure()
asyncio.run(measure())
