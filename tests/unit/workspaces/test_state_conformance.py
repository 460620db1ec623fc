"""pydantic-ai's own suite on `StateBackend`.

Skips that are inherent, because it has no commands: everything about `run` (command form, stdin, bytes, output,
background children, exit codes, argv, cwd, timeout, cancellation, environment, shared environment), and the file
rules that the suite sets up with commands (links, loops, FIFOs, permissions, detached processes). Because it knows
no links, it has no `realpath` of its own, and because the files live in the object, nothing can attach to it or be
destroyed apart from it.
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
