"""A policy that gives no answer denies: nothing runs because the check of it broke. An observer stops nothing."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.toolsets import FunctionToolset
from pydantic_ai.workspaces import ReadOnlyWorkspace

from deep_notebook.capabilities.filesystem import Filesystem
from deep_notebook.capabilities.hooks import Hook, HookEvent, HookInput, HookResult, HooksCapability
from deep_notebook.workspaces import KernelWorkspace, StateBackend
from harness.play import Deps, Played, play

pytestmark = pytest.mark.anyio


def raises(given: HookInput) -> HookResult:
    raise RuntimeError('no connection')


async def raises_late(given: HookInput) -> HookResult:
    await asyncio.sleep(0)
    raise RuntimeError('no connection')


def stops_iterating(given: HookInput) -> HookResult:
    raise StopIteration


def leaves(given: HookInput) -> HookResult:
    sys.exit(0)


async def leaves_late(given: HookInput) -> HookResult:
    sys.exit(0)


async def gives_up(given: HookInput) -> HookResult:
    raise asyncio.CancelledError


async def never_ends(given: HookInput) -> HookResult:
    await asyncio.Event().wait()
    raise AssertionError


async def says_nothing(given: HookInput) -> None:
    return None


def says_yes(given: HookInput) -> Any:
    return True


def says_maybe(given: HookInput) -> HookResult:
    return HookResult(allow='no')  # type: ignore[arg-type]


def takes_nothing() -> HookResult:
    return HookResult()


def changes_to_nonsense(given: HookInput) -> HookResult:
    return HookResult(modified_args={'text': {'not': 'text'}})


def changes_to_unknown(given: HookInput) -> HookResult:
    return HookResult(modified_args={'text': 'x', 'more': 1})


def changes_to_a_list(given: HookInput) -> HookResult:
    return HookResult(modified_args=['x'])  # type: ignore[arg-type]


def changes_to_what_is_no_json(given: HookInput) -> HookResult:
    return HookResult(modified_args={'text': object()})


def changes_to_what_the_tool_refuses(given: HookInput) -> HookResult:
    return HookResult(modified_args={'text': 'refused'})


@dataclass(frozen=True)
class Broken:
    hook: dict[str, Any]
    told: str


CASES = [
    Broken({'handler': raises}, 'raises crashed: no connection'),
    Broken({'handler': raises_late}, 'raises_late crashed: no connection'),
    Broken({'handler': stops_iterating}, 'stops_iterating crashed: '),
    Broken({'handler': leaves}, 'leaves crashed: 0'),
    Broken({'handler': leaves_late}, 'leaves_late crashed: 0'),
    Broken({'handler': gives_up}, 'gives_up was cancelled'),
    Broken({'handler': never_ends, 'timeout': 0.05}, 'never_ends took longer than 0.05 s'),
    Broken({'handler': takes_nothing}, 'takes_nothing crashed: '),
    Broken({'command': 'exit 1'}, 'exit 1 failed with exit code 1: no message'),
    Broken({'command': 'echo out of order >&2; exit 3'}, 'failed with exit code 3: out of order'),
    Broken({'command': 'no-such-program-here'}, 'failed with exit code 127'),
    Broken({'command': 'kill -9 $$'}, 'failed with exit code 137'),
    Broken({'command': 'echo "('}, ''),
    Broken({'command': 'sleep 60', 'timeout': 0.2}, 'sleep 60 took longer than 0.2 s'),
    Broken({'command': 'yes'}, 'yes could not be run: '),
    Broken({'command': """echo '{"allow": "perhaps"}'"""}, 'printed an answer that is none'),
    Broken({'command': """echo '{"modified_args": [1]}'"""}, 'printed an answer that is none'),
]
ANSWERS = [
    Broken({'handler': says_nothing}, 'says_nothing returned NoneType instead of a HookResult'),
    Broken({'handler': says_yes}, 'says_yes returned bool instead of a HookResult'),
    Broken({'handler': says_maybe}, 'it gave no reason'),
    Broken({'handler': changes_to_nonsense}, 'gave arguments that do not fit note'),
    Broken({'handler': changes_to_unknown}, 'gave arguments that do not fit note'),
    Broken({'handler': changes_to_a_list}, 'gave arguments that do not fit note'),
    Broken({'handler': changes_to_what_is_no_json}, 'gave arguments that do not fit note'),
    Broken({'handler': changes_to_what_the_tool_refuses}, 'do not fit note: not this text'),
]


def name_of(case: Broken) -> str:
    return str(case.hook.get('command') or case.hook['handler'].__name__)


async def note_with(
    *hooks: Hook, backend: Any, turns: int = 1, more: list[AbstractCapability[Any]] | None = None
) -> tuple[list[str], Played]:
    written: list[str] = []
    tools: FunctionToolset[Any] = FunctionToolset()

    def check(ctx: Any, text: str) -> None:
        if text == 'refused':
            raise ModelRetry('not this text')

    @tools.tool_plain(args_validator=check, retries=1)
    async def note(text: str) -> str:
        """Note."""
        written.append(text)
        return 'noted'

    turn = [('note', {'text': 'x'})]
    played = await play(
        *[turn] * turns,
        capabilities=[Filesystem(), HooksCapability(hooks), *(more or [])],
        toolsets=[tools],
        deps=Deps(backend),
    )
    return written, played


@pytest.mark.parametrize('case', [*CASES, *ANSWERS], ids=name_of)
async def test_a_policy_without_an_answer_denies(tmp_path: Path, case: Broken) -> None:
    written, played = await note_with(Hook(HookEvent.PRE_TOOL_USE, **case.hook), backend=KernelWorkspace(tmp_path))
    assert written == []
    assert played.returns[0].outcome == 'denied'
    assert case.told in played.texts[0]
    assert played.output == 'done'


@pytest.mark.parametrize('event', [event for event in HookEvent if event is not HookEvent.PRE_TOOL_USE])
@pytest.mark.parametrize('case', CASES[:1] + CASES[4:8] + CASES[8:9], ids=name_of)
async def test_an_observer_that_breaks_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, case: Broken, event: HookEvent
) -> None:
    written, played = await note_with(Hook(event, **case.hook), backend=KernelWorkspace(tmp_path))
    assert (written, played.texts, played.output) == (['x'], ['noted'], 'done')
    assert (case.told in caplog.text) == ('failure' not in event and 'error' not in event)


@pytest.mark.parametrize('case', CASES, ids=name_of)
async def test_a_background_hook_cannot_deny_by_breaking(tmp_path: Path, case: Broken) -> None:
    hook = Hook(HookEvent.PRE_TOOL_USE, background=True, **case.hook)
    written, _ = await note_with(hook, backend=KernelWorkspace(tmp_path))
    assert written == ['x']


@pytest.mark.parametrize('where', ['no commands', 'read only'])
async def test_a_command_hook_that_the_workspace_cannot_run_denies(tmp_path: Path, where: str) -> None:
    backend: Any = StateBackend() if where == 'no commands' else ReadOnlyWorkspace(KernelWorkspace(tmp_path))
    written, played = await note_with(Hook(HookEvent.PRE_TOOL_USE, command='true'), backend=backend)
    assert written == []
    assert played.returns[0].outcome == 'denied'


class Unreachable(StateBackend):
    """A workspace whose library has errors of its own."""

    async def run(self, command: Any, **options: Any) -> Any:
        raise RuntimeError('the line is dead')


async def test_an_error_of_the_library_behind_a_workspace_is_a_hook_that_cannot_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    written, played = await note_with(Hook(HookEvent.PRE_TOOL_USE, command='true'), backend=Unreachable())
    assert (written, played.returns[0].outcome) == ([], 'denied')
    assert 'the line is dead' in played.texts[0]
    written, _ = await note_with(Hook(HookEvent.AFTER_MODEL_REQUEST, command='true'), backend=Unreachable())
    assert written == ['x']
    assert 'the line is dead; the run goes on' in caplog.text


class Hanging(StateBackend):
    """A workspace that does not keep to the time it is given."""

    async def run(self, command: Any, **options: Any) -> Any:
        await asyncio.Event().wait()


async def test_a_workspace_that_hangs_is_a_hook_that_takes_too_long() -> None:
    hook = Hook(HookEvent.PRE_TOOL_USE, command='true', timeout=0.05)
    written, played = await note_with(hook, backend=Hanging())
    assert written == []
    assert 'true took longer than 0.05 s' in played.texts[0]


async def test_one_policy_that_allows_does_not_make_up_for_one_that_breaks(tmp_path: Path) -> None:
    def allows(given: HookInput) -> HookResult:
        return HookResult()

    for order in ([allows, raises, allows], [raises, allows], [allows, raises]):
        hooks = [Hook(HookEvent.PRE_TOOL_USE, handler=handler) for handler in order]
        written, _ = await note_with(*hooks, backend=KernelWorkspace(tmp_path))
        assert written == []


async def test_a_handler_that_ignores_being_cancelled_holds_nothing_up(tmp_path: Path) -> None:
    let_go = asyncio.Event()

    async def stubborn(given: HookInput) -> HookResult:
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue
        return HookResult()

    async def release(given: HookInput) -> HookResult:
        let_go.set()
        return HookResult()

    hooks = [
        Hook(HookEvent.PRE_TOOL_USE, handler=stubborn, timeout=0.05),
        Hook(HookEvent.AFTER_RUN, handler=release),
    ]
    written, played = await note_with(*hooks, backend=KernelWorkspace(tmp_path))
    assert (written, played.returns[0].outcome) == ([], 'denied')


@pytest.fixture
def held() -> Iterator[threading.Event]:
    """An event that nobody sets before the test is over."""
    event = threading.Event()
    yield event
    event.set()


async def test_a_function_that_blocks_holds_up_neither_the_run_nor_the_end_of_python(
    tmp_path: Path, held: threading.Event
) -> None:
    threads: list[threading.Thread] = []

    def blocks(given: HookInput) -> HookResult:
        threads.append(threading.current_thread())
        held.wait()
        return HookResult()

    hook = Hook(HookEvent.PRE_TOOL_USE, handler=blocks, timeout=0.05)
    written, played = await note_with(hook, backend=KernelWorkspace(tmp_path))
    assert (written, played.returns[0].outcome) == ([], 'denied')
    assert threads[0].daemon


async def test_denials_do_not_spend_the_retries_of_a_tool(tmp_path: Path) -> None:
    denying = Hook(HookEvent.PRE_TOOL_USE, handler=lambda given: HookResult(allow=False, reason='no'))
    written, played = await note_with(denying, backend=KernelWorkspace(tmp_path), turns=6)
    assert written == []
    assert [part.outcome for part in played.returns] == ['denied'] * 6
    assert played.output == 'done'


async def test_arguments_of_a_hook_that_do_not_fit_do_not_spend_the_retries_of_a_tool(tmp_path: Path) -> None:
    hook = Hook(HookEvent.PRE_TOOL_USE, handler=changes_to_nonsense)
    _, played = await note_with(hook, backend=KernelWorkspace(tmp_path), turns=6)
    assert [part.outcome for part in played.returns] == ['denied'] * 6
    assert played.output == 'done'


async def test_what_a_policy_says_is_masked_and_short(tmp_path: Path) -> None:
    reason = 'token=ghp_abcdefghijklmnopqrstuvwx0123456789 ' + 'x' * 100_000
    hook = Hook(HookEvent.PRE_TOOL_USE, handler=lambda given: HookResult(allow=False, reason=reason))
    _, played = await note_with(hook, backend=KernelWorkspace(tmp_path))
    assert 'ghp_abc' not in played.texts[0]
    assert len(played.texts[0]) <= 2_000


def test_policies_cannot_be_left_to_the_model_to_load() -> None:
    policy = Hook(HookEvent.PRE_TOOL_USE, command='true')
    with pytest.raises(ValueError, match='cannot be loaded on demand'):
        HooksCapability([policy], defer_loading=True)
    observers = [Hook(HookEvent.AFTER_RUN, 'true'), Hook(HookEvent.PRE_TOOL_USE, 'true', background=True)]
    HooksCapability(observers, defer_loading=True)
