from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from pydantic_ai import models

from harness.environment import KERNEL_VERSIONS
from harness.kernels import RealKernel
from harness.kernels import start_kernel as start
from harness.skips import fail_unless_inherent

pytest_plugins = ['harness.lab_fixtures']

models.ALLOW_MODEL_REQUESTS = False

# The same examples in every run, however slow the machine is.
settings.register_profile('repeatable', deadline=None, derandomize=True, database=None)
settings.load_profile('repeatable')


@pytest.fixture
def anyio_backend() -> str:
    return 'asyncio'


@pytest.fixture(params=KERNEL_VERSIONS, ids='ipykernel-{}'.format)
def kernel_version(request: pytest.FixtureRequest) -> str:
    """Each ipykernel in turn: a test that uses this (or `kernel`) runs once on every version."""
    return request.param


@pytest.fixture
def start_kernel(tmp_path: Path) -> Iterator[Callable[..., RealKernel]]:
    """`harness.kernels.start_kernel`; the kernels are closed after the test. Working directory: `tmp_path`."""
    kernels: list[RealKernel] = []

    def started(version: str, cwd: Path = tmp_path, **options: object) -> RealKernel:
        kernels.append(start(version, cwd, **options))
        return kernels[-1]

    yield started
    for kernel in kernels:
        kernel.close()


@pytest.fixture
def kernel(start_kernel: Callable[..., RealKernel], kernel_version: str) -> RealKernel:
    """A fresh kernel in `tmp_path`, once for every ipykernel version."""
    return start_kernel(kernel_version)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return fail_unless_inherent((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return fail_unless_inherent((yield))
