"""pydantic-ai's own suite on `KernelWorkspace`. Only root skips a rule: nothing denies root the reading of a file."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from pydantic_ai.workspaces import WorkspaceBackend, WorkspaceRef
from pydantic_ai.workspaces.conformance import WorkspaceBackendSuite

from deep_notebook.workspaces import KernelWorkspace


class TestKernelWorkspace(WorkspaceBackendSuite):
    @pytest.fixture
    def backend(self, tmp_path: Path) -> WorkspaceBackend:
        return KernelWorkspace(tmp_path)

    @pytest.fixture
    def fresh_backend(self, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], WorkspaceBackend]:
        return lambda: KernelWorkspace(tmp_path_factory.mktemp('fresh'))

    @pytest.fixture
    def attach_backend(self) -> Callable[[WorkspaceRef], WorkspaceBackend]:
        return lambda ref: KernelWorkspace(ref.id)

    @pytest.fixture
    def destroy_environment(self) -> Callable[[WorkspaceBackend], Awaitable[None]]:
        async def destroy(backend: WorkspaceBackend) -> None:
            shutil.rmtree(await backend.working_dir())

        return destroy
