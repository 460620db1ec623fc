"""pydantic-ai's own suite on `StateBackend`.

Skips, all inherent: it runs no commands, so nothing about `run` can be checked, nor what the suite sets up with
commands (links, loops, FIFOs, permissions, detached processes); it knows no links, so it needs no `realpath` of its
own; its files live and die with the object, so nothing attaches to them or destroys them apart from it.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pydantic_ai.workspaces import WorkspaceBackend
from pydantic_ai.workspaces.conformance import WorkspaceBackendSuite

from deep_notebook.workspaces import StateBackend


class TestStateBackend(WorkspaceBackendSuite):
    @pytest.fixture
    def backend(self) -> WorkspaceBackend:
        return StateBackend()

    @pytest.fixture
    def fresh_backend(self) -> Callable[[], WorkspaceBackend]:
        return StateBackend

    @pytest.fixture
    def has_real_posix_shell(self) -> bool:
        return False

    @pytest.fixture
    def can_detect_exit_with_inherited_output_pipes(self) -> bool:
        pytest.skip('fake has no processes')

    @pytest.fixture
    def attach_backend(self) -> None:
        pytest.skip('in-memory fake lives in its object: nothing attaches to it')

    @pytest.fixture
    def destroy_environment(self) -> None:
        pytest.skip('in-memory fake lives in its object: nothing destroys it')
