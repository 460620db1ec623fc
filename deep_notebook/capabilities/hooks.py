"""Run commands and functions of the person when tools are used, and at other points of a run.

Hooks of tools run inside every other capability: a policy sees the arguments that the tool would get, and an observer
the result as the tool returned it. They run once for each call, before the approval gate: what a policy denies is not
asked about, and what it changed is what the person is shown, and what runs after a yes.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Required

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering, WrapRunHandler, WrapToolExecuteHandler
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, RunCancelled, SkipToolExecution
from pydantic_ai.messages import ModelResponse, ToolCallPart, ToolReturn, ToolReturnPart, is_multi_modal_content
from pydantic_ai.tools import AgentDepsT, ToolDefinition, ToolDenied
from pydantic_core import to_json, to_jsonable_python
from typing_extensions import TypedDict

from ..errors import did_you_mean
from ..masking import mask_secrets
from .approval_seals import is_asked_again, sealed_in
from .hook_types import Hook, HookEvent, HookFailed, HookHandler, HookInput, HookResult
from .hooks_commands import run_hook_command
from .hooks_handlers import call_hook_handler, error_text
from .output import head_and_tail

if TYPE_CHECKING:
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.run import AgentRunResult

__all__ = ['Hook', 'HookEvent', 'HookHandler', 'HookInput', 'HookResult', 'HookRunner', 'HookSpec', 'HooksCapability']

_LOGGER = logging.getLogger(__name__)
_MAX_REASON = 2_000
_CANCEL_GRACE = 1.0
"""Seconds that hooks which are ended at the end of a run may take to end."""


class HookSpec(TypedDict, total=False):
    """A hook as a spec file has it: commands only."""

    event: Required[str]
    command: Required[str]
    matcher: str | None
    timeout: float
    background: bool


@dataclass(frozen=True)
class _Passed:
    """A call that the policies let through."""

    given: dict[str, Any]
    """The arguments that they were asked about, as JSON."""
    args: dict[str, Any] | None
    """The arguments that they changed them to."""


@dataclass
class HookRunner(AbstractCapability[AgentDepsT]):
    """What runs hooks at the eight events of `HookEvent`, in the order in which they are listed.

    A denial is the call's result and costs the tool none of its retries. The answer to an approved call is the one
    given before it was asked about; only arguments that the person changed are looked at anew. Arguments that a hook
    changed where the person could not see it, because the tool itself asked for approval, are not run.

    Raises:
        ValueError: A policy hook would only work once the model has loaded it (`defer_loading`).
    """

    hooks: Sequence[Hook] = ()
    background_wait: float = 10.0
    """Seconds that the end of a run waits for background hooks; a run that is cancelled ends them at once."""

    _passed: dict[str, _Passed] = field(default_factory=dict, init=False, repr=False, compare=False)
    _tasks: set[asyncio.Task[Any]] = field(default_factory=set, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.hooks = list(self.hooks)
        if self.defer_loading and any(hook.is_policy for hook in self.hooks):
            raise ValueError('policy hooks cannot be loaded on demand: the model would decide whether they apply')

    def get_ordering(self) -> CapabilityOrdering:
        """Return that no other capability comes between the hooks and the tool."""
        return CapabilityOrdering(position='innermost')

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> HookRunner[AgentDepsT]:
        """Return a copy for one run."""
        return replace(self)

    async def wrap_run(self, ctx: RunContext[AgentDepsT], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        """Hold background hooks until they are done."""
        patience = 0.0
        try:
            result = await handler()
            patience = self.background_wait
        except Exception:
            patience = self.background_wait
            raise
        finally:
            await self._settle(patience)
        return result

    async def before_run(self, ctx: RunContext[AgentDepsT]) -> None:
        """Run `BEFORE_RUN` hooks."""
        prompt = ctx.prompt
        if prompt is not None and not isinstance(prompt, str):
            prompt = '\n'.join(part for part in prompt if isinstance(part, str))
        await self._observe(ctx, HookInput(HookEvent.BEFORE_RUN.value, tool_input={'prompt': prompt or ''}))

    async def after_run(self, ctx: RunContext[AgentDepsT], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Run `AFTER_RUN` hooks."""
        if self._matching(HookEvent.AFTER_RUN):
            await self._observe(ctx, HookInput(HookEvent.AFTER_RUN.value, tool_result=_text_of(result.output)))
        return result

    async def on_run_error(self, ctx: RunContext[AgentDepsT], *, error: BaseException) -> AgentRunResult[Any]:
        """Run `RUN_ERROR` hooks and raise the error again."""
        if isinstance(error, Exception) and not isinstance(error, RunCancelled):
            await self._observe(ctx, HookInput(HookEvent.RUN_ERROR.value, tool_error=error_text(error)))
        raise error

    async def before_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Run `BEFORE_MODEL_REQUEST` hooks."""
        await self._observe(ctx, HookInput(HookEvent.BEFORE_MODEL_REQUEST.value))
        return request_context

    async def after_model_request(
        self, ctx: RunContext[AgentDepsT], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Run `AFTER_MODEL_REQUEST` hooks."""
        await self._observe(ctx, HookInput(HookEvent.AFTER_MODEL_REQUEST.value, tool_result=response.text))
        return response

    async def before_tool_execute(
        self, ctx: RunContext[AgentDepsT], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any]
    ) -> dict[str, Any]:
        """Run `PRE_TOOL_USE` hooks: deny the call, or return its arguments, changed or not."""
        hooks = self._matching(HookEvent.PRE_TOOL_USE, call.tool_name)
        if not hooks:
            return args
        given = as_json(args)
        passed = self._passed.get(call.tool_call_id) if ctx.tool_call_approved else None
        if passed is None or passed.given != given:
            passed = self._passed[call.tool_call_id] = _Passed(given, await self._ask(ctx, hooks, call, given))
        if passed.args is None:
            return args
        if ctx.tool_call_approved and not _is_shown_changed(ctx.tool_call_metadata):
            raise denial('it changes the arguments, and others were approved. Nothing was done.')
        return passed.args

    async def wrap_tool_execute(
        self,
        ctx: RunContext[AgentDepsT],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        """Run `POST_TOOL_USE_FAILURE` hooks when the tool fails, and let what it raised go on."""
        waits = False
        try:
            return await handler(args)
        except (ApprovalRequired, CallDeferred):
            waits = True
            raise
        except SkipToolExecution:
            raise
        except Exception as error:
            if self._matching(HookEvent.POST_TOOL_USE_FAILURE, call.tool_name):
                passed = self._passed.get(call.tool_call_id)
                used = passed.args if passed is not None and passed.args is not None else args
                await self._observe(
                    ctx,
                    HookInput(
                        HookEvent.POST_TOOL_USE_FAILURE.value,
                        call.tool_name,
                        as_json(used),
                        tool_error=error_text(error),
                    ),
                )
            raise
        finally:
            if not waits:
                self._passed.pop(call.tool_call_id, None)

    async def after_tool_execute(
        self,
        ctx: RunContext[AgentDepsT],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        result: Any,
    ) -> Any:
        """Run `POST_TOOL_USE` hooks and return the result, changed or not."""
        if not self._matching(HookEvent.POST_TOOL_USE, call.tool_name):
            return result
        before = _text_of(result.return_value if isinstance(result, ToolReturn) else result)
        given = HookInput(HookEvent.POST_TOOL_USE.value, call.tool_name, as_json(args), tool_result=before)
        after = await self._observe(ctx, given)
        if after is None or after == before:
            return result
        if tool_def.tool_kind is not None:
            _LOGGER.warning(
                'A hook changed the result of %s, which has a fixed form; it stays as it is.', tool_def.name
            )
            return result
        return _with_text(result, after)

    def _matching(self, event: HookEvent, tool_name: str = '') -> list[Hook]:
        return [hook for hook in self.hooks if hook.matches(event, tool_name)]

    async def _ask(
        self, ctx: RunContext[AgentDepsT], hooks: Sequence[Hook], call: ToolCallPart, tool_input: dict[str, Any]
    ) -> dict[str, Any] | None:
        """Return the arguments that the policies changed a call's to, `None` for none; raise if one denies it."""
        changed: dict[str, Any] | None = None
        refusal: str | None = None
        for hook in hooks:
            given = HookInput(HookEvent.PRE_TOOL_USE.value, call.tool_name, tool_input)
            if hook.background:
                self._start(ctx, hook, given)
            if hook.background or refusal is not None:
                continue
            try:
                result = await self._answer(ctx, hook, given)
                if result.allow is not True:
                    refusal = result.reason or 'it gave no reason.'
                elif result.modified_args is not None:
                    validated = await _validated(ctx, call.tool_name, result.modified_args)
                    if (after := as_json(validated)) != tool_input:
                        changed, tool_input = validated, after
            except HookFailed as error:
                _LOGGER.warning('The hook %s %s; the call of %s was denied.', hook.label, error, call.tool_name)
                refusal = f'{hook.label} {error}. What it did not allow does not run.'
        if refusal is not None:
            raise denial(refusal)
        return changed

    async def _observe(self, ctx: RunContext[AgentDepsT], given: HookInput) -> str | None:
        """Run the hooks that observe an event, and return the tool's result as they leave it."""
        for hook in self._matching(HookEvent(given.event), given.tool_name):
            if hook.background:
                self._start(ctx, hook, given)
                continue
            result = await self._observed(ctx, hook, given)
            if hook.event is HookEvent.POST_TOOL_USE and result is not None and result.modified_result is not None:
                given = replace(given, tool_result=str(result.modified_result))
        return given.tool_result

    async def _observed(self, ctx: RunContext[AgentDepsT], hook: Hook, given: HookInput) -> HookResult | None:
        try:
            result = await self._answer(ctx, hook, given)
        except HookFailed as error:
            _LOGGER.warning('The hook %s %s; the run goes on.', hook.label, error, exc_info=error.__cause__)
            return None
        if not result.allow:
            _LOGGER.warning('The hook %s wants to deny at %s, which it cannot.', hook.label, given.event)
        return result

    async def _answer(self, ctx: RunContext[AgentDepsT], hook: Hook, given: HookInput) -> HookResult:
        """Return what a hook answers, in time; raise `HookFailed` for everything else."""
        own = replace(given, tool_input=as_json(given.tool_input))
        if hook.handler is None:
            return await run_hook_command(ctx.workspace, hook.command or '', own, timeout=hook.timeout)
        task = self._hold(asyncio.create_task(call_hook_handler(hook.handler, own)))
        try:
            await asyncio.wait({task}, timeout=hook.timeout)
        finally:
            in_time = task.done()
            task.cancel()
        if not in_time:
            raise HookFailed(f'took longer than {hook.timeout:g} s')
        if task.cancelled():
            raise HookFailed('was cancelled')
        result = task.result()
        if result is None and not hook.is_policy:
            return HookResult()
        if not isinstance(result, HookResult):
            raise HookFailed(f'returned {type(result).__name__} instead of a HookResult')
        return result

    def _start(self, ctx: RunContext[AgentDepsT], hook: Hook, given: HookInput) -> None:
        self._hold(asyncio.create_task(self._observed(ctx, hook, given)))

    def _hold(self, task: asyncio.Task[Any]) -> asyncio.Task[Any]:
        """Keep a task from being garbage-collected while it runs, and its error from being reported as forgotten."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task

    async def _settle(self, patience: float) -> None:
        """Wait for the hooks that still run, and end those that take too long."""
        if self._tasks and patience:
            await asyncio.wait(self._tasks, timeout=patience)
        late = set(self._tasks)
        for task in late:
            task.cancel()
        if late:
            if patience:
                _LOGGER.warning('Background hooks still ran %g s after the run; they were ended.', patience)
            await asyncio.wait(late, timeout=_CANCEL_GRACE)


@dataclass
class HooksCapability(HookRunner[AgentDepsT]):
    """Run the hooks of a list: see `Hook` for what they are, and `HookEvent` for when they run.

    What changes arguments belongs before what decides about them. A run that is given a capability of this class uses
    that one instead of the agent's, as with every capability.
    """

    id: str | None = field(default='hooks', kw_only=True)
    description: str | None = field(default='Run commands and functions when tools are used.', kw_only=True)

    @classmethod
    def from_spec(
        cls,
        hooks: Sequence[HookSpec] = (),
        background_wait: float = 10.0,
        *,
        id: str = 'hooks',
        defer_loading: bool = False,
    ) -> HooksCapability[Any]:
        """Return the capability that a spec file describes; raises `ValueError` for a hook that is none."""
        made = [_hook_of(hook) for hook in hooks]
        return cls(hooks=made, background_wait=background_wait, id=id, defer_loading=defer_loading)


def _hook_of(spec: Mapping[str, Any]) -> Hook:
    known = HookSpec.__annotations__
    for name in spec:
        if name not in known:
            raise ValueError(f'a hook has no {name!r}.{did_you_mean(name, known)}')
    return Hook(**spec)


async def _validated(ctx: RunContext[Any], tool_name: str, args: dict[str, Any]) -> dict[str, Any]:
    """Return arguments that a hook gave as the tool takes them, validated as if the model had given them."""
    tools = ctx.tool_manager.tools if ctx.tool_manager is not None else None
    tool = (tools or {}).get(tool_name)
    if tool is None:
        raise HookFailed(f'changed the arguments of {tool_name}, which cannot be validated here')
    try:
        validated: dict[str, Any] = tool.args_validator.validate_json(to_json(args), context=ctx.validation_context)
        if tool.args_validator_func is not None:
            checked = tool.args_validator_func(ctx, **validated)
            if inspect.isawaitable(checked):
                await checked
    except Exception as error:
        raise HookFailed(f'gave arguments that do not fit {tool_name}: {error_text(error)}') from error
    return validated


def _is_shown_changed(metadata: Any) -> bool:
    """Return whether the approval gate showed, or will show, the arguments after the hooks."""
    return sealed_in(metadata) is not None or is_asked_again(metadata)


def denial(reason: object) -> SkipToolExecution:
    """Return what to raise so that a call is denied."""
    return SkipToolExecution(ToolDenied(head_and_tail(mask_secrets(f'A hook said no: {reason}'), _MAX_REASON)))


def as_json(args: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of a call's arguments as JSON values."""
    plain: dict[str, Any] = to_jsonable_python(args, fallback=repr)
    return plain


def _text_of(value: Any) -> str:
    return ToolReturnPart(tool_name='', content=value, tool_call_id='').model_response_str()


def _with_text(result: Any, text: str) -> Any:
    if isinstance(result, ToolReturn):
        return replace(result, return_value=_with_text(result.return_value, text))
    if isinstance(result, list) and (pictures := [item for item in result if is_multi_modal_content(item)]):
        return [text, *pictures]
    return text
