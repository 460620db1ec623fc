"""Every option of a deep agent, defined once.

`DeepAgentSpec` holds what can be stored: name, type, default and meaning. `DeepAgentOptions` is what a caller of
`create_deep_agent` may give: the same names, and in their place, or beside them, Python objects that no file holds.
The factory, spec files and the magics read these two.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, ConfigDict, Field, NonNegativeInt, PositiveInt, with_config
from pydantic_ai.agent.abstract import AgentRetries
from pydantic_ai.agent.spec import AgentSpec
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import Model
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.settings import ModelSettings, ThinkingEffort
from pydantic_ai.tools import Tool
from pydantic_ai.toolsets import AgentToolset
from typing_extensions import Doc, TypedDict

from .capabilities.approvals import Approver
from .capabilities.checkpoints import CheckpointFrequency
from .capabilities.context_manager import OnAfterCompress, OnBeforeCompress, OnContextUpdate
from .capabilities.cost import OnCostUpdate
from .capabilities.eviction import OnEviction
from .capabilities.filesystem import EditFormat
from .capabilities.hooks import Hook
from .capabilities.mcp import McpServer
from .capabilities.skills import BackendSkillsDirectory, SkillsDirectory
from .capabilities.subagents import DynamicAgentRegistry, SubAgentConfig
from .store import ConversationArchives, HistoryArchive
from .store.checkpoints import CheckpointStore
from .styles import OutputStyle
from .workspaces import BackendProtocol

__all__ = [
    'DEFAULT_MODEL',
    'NAMES',
    'OBJECTS',
    'DeepAgentOptions',
    'DeepAgentSpec',
    'StoredSubAgent',
    'with_options_signature',
]

DEFAULT_MODEL = 'anthropic:claude-opus-4-6'

FactoryT = TypeVar('FactoryT', bound=Callable[..., Any])


@with_config(ConfigDict(extra='forbid'))
class StoredSubAgent(TypedDict, total=False):
    """A subagent as a spec file has it: the keys of `SubAgentConfig` that can be stored."""

    name: str
    description: str
    instructions: str
    model: str | None
    context_files: list[str]
    include_memory: bool
    read_only: bool


def _no_deps_schema(value: dict[str, Any] | None) -> dict[str, Any] | None:
    if value is not None:
        raise ValueError('a deep agent has DeepAgentDeps; leave deps_schema out')
    return value


def _no_teams(value: bool) -> bool:
    if value:
        raise ValueError('this version has no teams yet; subagents may do')
    return value


class DeepAgentSpec(AgentSpec):
    """A deep agent as a YAML or JSON file holds it. What is not set has the default; an unknown name is an error."""

    model_config = ConfigDict(extra='forbid', use_attribute_docstrings=True, validate_by_name=True)

    model: str | None = None
    """Who answers: `provider:model`, or `embedded`. By default `anthropic:claude-opus-4-6`."""
    name: str | None = None
    """What the agent is called in questions, notes and traces; `main` by default."""
    description: str | None = None
    """What the agent is for, in a line."""
    instructions: str | list[str] | None = None  # type: ignore[assignment]  # narrower: no templates
    """Added after the base instructions, as it is: nothing in it is a template."""
    deps_schema: Annotated[dict[str, Any] | None, AfterValidator(_no_deps_schema)] = None
    """Not for a deep agent: its deps are `DeepAgentDeps`."""
    retries: int | AgentRetries | None = 3
    """How often the arguments of one tool call may be corrected."""
    output_style: str | None = None
    """The name of a style to answer in: built in, or from `styles_dir`."""
    styles_dir: str | None = None
    """A directory of own styles."""

    include_todo: bool = True
    """Whether the agent keeps a plan that the person sees."""
    include_current_todos: bool = False
    """Whether the plan as it is goes into every request; each change then invalidates the provider's prompt cache."""
    include_filesystem: bool = True
    """Whether it reads and writes the files of the workspace."""
    include_execute: bool | None = None
    """Whether it runs shell commands; by default, where the workspace can."""
    include_subagents: bool = True
    """Whether it gives work to others."""
    include_builtin_subagents: bool = True
    """Whether there are the subagents `general` and `research`."""
    include_plan: bool = True
    """Whether it asks the person to decide, and whether there is the subagent `planner`."""
    include_skills: bool = True
    """Whether it loads skills."""
    include_memory: bool = True
    """Whether it keeps notes from one conversation to the next."""
    include_checkpoints: bool = False
    """Whether checkpoints of the conversation are taken, and the agent can go back to one. A notebook takes its own,
    for `%deep rewind`, unless this says no."""
    include_teams: Annotated[bool, AfterValidator(_no_teams)] = False
    """Not for this version: there are no teams of agents yet, only subagents."""
    include_history_archive: bool = True
    """Whether it looks up what was said before, also what was compressed away; needs `context_manager`."""
    web_search: bool = False
    """Whether it searches the web: queries leave this machine."""
    web_fetch: bool = False
    """Whether it reads web pages: addresses leave this machine."""
    thinking: bool | ThinkingEffort | None = None
    """How much the model thinks before it answers; by default what its provider does."""

    subagents: list[StoredSubAgent] | None = None
    """Own subagents; one with the name of a built-in subagent takes its place."""
    max_nesting_depth: NonNegativeInt = 1
    """How many levels of subagents may follow: with 1, a subagent has none of its own."""
    skill_directories: list[str] | None = None
    """Directories of this machine with own skills, looked at before the workspace's and the bundled ones."""
    edit_format: EditFormat = 'hashline'
    """How files are edited: by line anchors, by quoting text, or what suits the model's family."""
    context_files: list[str] | None = None
    """Files of the workspace that tell about the project."""
    context_discovery: bool = False
    """Whether `AGENTS.md` and `SOUL.md` are read where they are."""
    memory_dir: str = '/.deep/memory'
    """Where notes are kept; `.deep/memory` in a person's directory."""
    plans_dir: str = '/plans'
    """Where plans are saved; `.deep/plans` in a person's directory."""
    checkpoint_frequency: CheckpointFrequency = 'every_tool'
    """When checkpoints are taken: after each step with tools, before each request, or only by name."""
    max_checkpoints: PositiveInt = 20
    """How many of those that nobody named are kept."""
    eviction_token_limit: NonNegativeInt | None = 20_000
    """The largest tool result that stays in the history, in tokens; a larger one goes into a file. `null`: no limit."""
    patch_tool_calls: bool = True
    """Whether calls and results that lost each other are put together again."""
    context_manager: bool = True
    """Whether old messages are summarised before the context overflows."""
    context_manager_max_tokens: PositiveInt | None = None
    """The size of the context in tokens; by default what is known of the model."""
    summarization_model: str | None = None
    """Who summarises; by default the model that answers."""
    history_messages_path: str | None = None
    """A `messages.json` that keeps the whole history, compressed or not."""
    mcp_servers: dict[str, dict[str, Any]] | None = None
    """MCP servers by name, each with `command`, `args`, `env` and `cwd`, or with `url` and `headers`."""

    interrupt_on: dict[str, bool] | None = None
    """Tools, by name, that need a yes from the person before each call, or need none. `execute` does by default; in a
    notebook whatever writes or executes does, unless `--approve review` or `auto` lets it happen."""
    cost_tracking: bool = True
    """Whether costs are counted as they arise, for `on_cost_update`, and unknown prices told."""
    cost_budget_usd: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """US dollars that a run may spend, its subagents included; no request follows once they are spent."""
    instrument: bool | None = None
    """Whether runs are traced with OpenTelemetry."""
    defer: Literal['auto'] | list[str] | None = 'auto'
    """Ids of capabilities that the model loads when it needs them; `auto` leaves in the first request what most turns
    need, `null` everything."""


class DeepAgentOptions(TypedDict, total=False):
    """What `create_deep_agent` can be given, beside `model` and `output_type`.

    The first part can be stored, and `DeepAgentSpec` says what each name means; where a type is wider than there, a
    Python object does too. The rest is Python objects.
    """

    name: str | None
    description: str | None
    instructions: Any
    output_schema: dict[str, Any] | None
    model_settings: ModelSettings | dict[str, Any] | None
    retries: int | AgentRetries | None
    end_strategy: Literal['early', 'graceful', 'exhaustive']
    tool_timeout: float | None
    metadata: dict[str, Any] | None
    capabilities: Sequence[AbstractCapability[Any] | str | Mapping[str, Any]]
    output_style: str | OutputStyle | None
    styles_dir: str | Path | None
    include_todo: bool
    include_current_todos: bool
    include_filesystem: bool
    include_execute: bool | None
    include_subagents: bool
    include_builtin_subagents: bool
    include_plan: bool
    include_skills: bool
    include_memory: bool
    include_checkpoints: bool
    include_teams: bool
    include_history_archive: bool
    web_search: bool
    web_fetch: bool
    thinking: bool | ThinkingEffort | None
    subagents: Sequence[SubAgentConfig] | None
    max_nesting_depth: int
    skill_directories: Sequence[str | Path | SkillsDirectory | BackendSkillsDirectory] | None
    edit_format: EditFormat
    context_files: Sequence[str] | None
    context_discovery: bool
    memory_dir: str
    plans_dir: str
    checkpoint_frequency: CheckpointFrequency
    max_checkpoints: int
    eviction_token_limit: int | None
    patch_tool_calls: bool
    context_manager: bool
    context_manager_max_tokens: int | None
    summarization_model: Model | str | None
    history_messages_path: str | Path | None
    mcp_servers: Mapping[str, McpServer | Mapping[str, Any]] | None
    interrupt_on: Mapping[str, bool] | None
    cost_tracking: bool
    cost_budget_usd: float | Decimal | None
    instrument: bool | InstrumentationSettings | None
    defer: Literal['auto'] | Collection[str] | None

    backend: Annotated[BackendProtocol | None, Doc('Where files are for a run whose deps name no backend.')]
    tools: Annotated[Sequence[Tool[Any] | Callable[..., Any]] | None, Doc('Further tools.')]
    toolsets: Annotated[Sequence[AgentToolset[Any]] | None, Doc('Further toolsets.')]
    hooks: Annotated[Sequence[Hook] | None, Doc('What is run when tools are used, and at other points of a run.')]
    middleware: Annotated[
        Sequence[AbstractCapability[Any]] | None,
        Doc('Further capabilities, between the hooks and what counts costs.'),
    ]
    approver: Annotated[
        Approver | None,
        Doc(
            'Who says yes to calls that need one; without, they are deferred where `output_type` has '
            '`DeferredToolRequests`, and denied elsewhere.'
        ),
    ]
    checkpoint_store: Annotated[
        CheckpointStore | None,
        Doc('Where checkpoints are kept; in memory by default, for all runs of the agent.'),
    ]
    subagent_registry: Annotated[DynamicAgentRegistry | None, Doc('Subagents that come and go.')]
    subagent_extra_toolsets: Annotated[Sequence[AgentToolset[Any]] | None, Doc('Further tools for every subagent.')]
    history_processors: Annotated[
        Sequence[Callable[..., Any]] | None,
        Doc('Functions that change the history before each request.'),
    ]
    on_eviction: Annotated[
        OnEviction | None,
        Doc('Called as `(tool_name, file_path, original_chars, preview_chars)` when a result went into a file.'),
    ]
    on_context_update: Annotated[
        OnContextUpdate | None,
        Doc('Called as `(share, tokens, max_tokens)` when it is known how full the context is.'),
    ]
    on_before_compress: Annotated[
        OnBeforeCompress | None,
        Doc('Called with the messages that a summary will replace, and how many they are.'),
    ]
    on_after_compress: Annotated[
        OnAfterCompress | None,
        Doc('Called with the messages that are left; text that it returns joins the summary.'),
    ]
    history_archive: Annotated[
        HistoryArchive | ConversationArchives | None,
        Doc('Where the whole history is kept and searched; `history_messages_path` is written too.'),
    ]
    on_cost_update: Annotated[OnCostUpdate | None, Doc('Called after each request with what was spent.')]


OBJECTS = frozenset(DeepAgentOptions.__annotations__) - frozenset(DeepAgentSpec.model_fields)
"""Options that no file holds."""
NAMES = (*DeepAgentSpec.model_fields, *sorted(OBJECTS))
"""All options."""


def with_options_signature(factory: FactoryT) -> FactoryT:
    """Give a function that takes every option the signature and the help that say so, for people and for completion."""
    own = [each for each in inspect.signature(factory).parameters.values() if each.kind is not each.VAR_KEYWORD]
    parameters = list(own)
    lines = [inspect.cleandoc(factory.__doc__ or ''), '\nOptions:']
    for name, annotation in DeepAgentOptions.__annotations__.items():
        stored = DeepAgentSpec.model_fields.get(name)
        default = None if stored is None else stored.get_default()
        kind, meaning = _read(annotation.__forward_arg__)
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind))
        meaning = meaning or (stored.description if stored is not None else None)
        if meaning:
            lines.append(f'    {name}: {" ".join(meaning.split())}')
    factory.__doc__ = '\n'.join(lines)
    factory.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return factory


def _read(annotation: str) -> tuple[str, str | None]:
    """Return the type that an annotation of `DeepAgentOptions` names, and the meaning beside it."""
    match ast.parse(annotation.strip(), mode='eval').body:
        case ast.Subscript(value=ast.Name(id='Annotated'), slice=ast.Tuple(elts=[kind, ast.Call(args=[meaning])])):
            return ast.unparse(kind), str(ast.literal_eval(meaning))
        case _:
            return annotation, None
