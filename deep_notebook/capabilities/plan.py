"""Planning before doing: ask the person what only they can decide, and save a plan that others can follow."""

from __future__ import annotations

import posixpath
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, NotRequired, Protocol, TypeAlias, runtime_checkable

from annotated_types import Len
from pydantic import BeforeValidator
from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolReturn
from pydantic_ai.tools import AgentDepsT
from pydantic_ai.toolsets import FunctionToolset
from typing_extensions import TypedDict

from .agent_paths import safe_name
from .approvals import Preview
from .arguments import parse_json_text
from .filesystem.changes import Change
from .filesystem.files import Files, Memory
from .filesystem.places import Place, answering
from .filesystem.text_files import TextFile
from .own_files import locate_own, writing_tool
from .tool_classes import READ
from .tools import MethodTool

__all__ = [
    'DEFAULT_PLANS_DIR',
    'PLANNER_DESCRIPTION',
    'PLANNER_INSTRUCTIONS',
    'AskOption',
    'AskUser',
    'HasAskUser',
    'PlanCapability',
    'PlanStep',
    'PlanToolset',
    'create_plan_toolset',
    'format_plan',
]

DEFAULT_PLANS_DIR = '/plans'

PLANNER_DESCRIPTION = 'Looks into a task and writes a plan for it, asking where a choice is open. Changes nothing.'

PLANNER_INSTRUCTIONS = """\
You plan, and somebody else carries it out. Change no file and run nothing that changes anything, however small: what
you make is a plan that can be followed without asking you.

1. Look first: the files, data and tests that the task touches, and how things are done there. Name only what you saw.
2. Where a choice changes the plan and nothing you can read decides it, use ask_user: what each option costs and brings,
   with the one you would take marked as recommended. Never ask what you can look up.
3. Put the work into steps that can be checked one by one. Each says which files it creates, modifies or deletes, what
   to do in them, and how to see that it worked. Leave out what the task does not need.
4. Call save_plan once, with the decisions and their reasons, and in the notes the risks and what stays open.

Answer with the path of the plan and what it comes to, in five lines or less."""


class AskOption(TypedDict):
    """One answer that the person can pick."""

    label: str
    description: NotRequired[str]
    recommended: NotRequired[bool]


class AskUser(Protocol):
    """Whoever puts a question to the person."""

    def __call__(self, question: str, options: Sequence[AskOption]) -> Awaitable[str | None]:
        """Return the label of the chosen option, or what the person said instead; `None` if nobody was there after all.

        Args:
            question: What to decide.
            options: Two to four, each with all its keys.
        """
        ...


@runtime_checkable
class HasAskUser(Protocol):
    """Deps that can ask the person; `None` means that nobody is there."""

    ask_user: AskUser | None


Action: TypeAlias = Literal['create', 'modify', 'delete']


class PlanStep(TypedDict):
    """One step of a plan."""

    title: str
    files: NotRequired[list[str]]
    action: NotRequired[Action]
    details: NotRequired[str]


def _as_options(value: Any) -> Any:
    """Accept labels alone as options."""
    options = parse_json_text(value)
    if not isinstance(options, list):
        return options
    return [{'label': option} if isinstance(option, str) else option for option in options]


_Options: TypeAlias = Annotated[list[AskOption], Len(2, 4), BeforeValidator(_as_options)]
_Steps: TypeAlias = Annotated[list[PlanStep], Len(1), BeforeValidator(parse_json_text)]
_Lines: TypeAlias = Annotated[Sequence[str], BeforeValidator(parse_json_text)]


def format_plan(
    title: str, *, context: str = '', decisions: Iterable[str] = (), steps: Sequence[PlanStep], notes: str = ''
) -> str:
    """Return a plan as Markdown, every section in its place."""
    sections = [
        f'# Plan: {_one_line(title)}',
        f'## Context\n\n{context.strip() or _NOTHING}',
        f'## Decisions Made\n\n{_list(decisions)}',
        '## Implementation Steps',
        *(_step(number, step) for number, step in enumerate(steps, 1)),
        f'## Files Summary\n\n{_list(_files_summary(steps))}',
        f'## Notes\n\n{notes.strip() or _NOTHING}',
    ]
    return '\n\n'.join(sections) + '\n'


class PlanToolset(FunctionToolset[AgentDepsT]):
    """`ask_user` and `save_plan`.

    Args:
        plans_dir: Where plans are saved.
        id: Distinguishes it from other toolsets of the agent.
    """

    def __init__(self, plans_dir: str = DEFAULT_PLANS_DIR, *, id: str | None = 'plan') -> None:
        self.plans_dir = plans_dir
        ask = MethodTool[AgentDepsT](self.ask_user, sequential=True, metadata={**READ})
        super().__init__([ask, writing_tool(self.save_plan, directory=plans_dir, preview=self._preview)], id=id)

    async def ask_user(self, ctx: RunContext[Any], question: str, options: _Options) -> ToolReturn[str]:
        """Let the person decide what you cannot find out. Returns their choice, or words of their own.

        Args:
            options: 2 to 4. Mark the one you would take as recommended.
        """
        complete = [_complete(option) for option in options]
        labels = [option['label'] for option in complete]
        if not all(labels) or len(set(labels)) < len(labels):
            raise ToolFailed(f'Each option needs a label of its own, got {labels!r}. Nobody was asked.')
        ask = ctx.deps.ask_user if isinstance(ctx.deps, HasAskUser) else None
        answer = None if ask is None else await ask(question, complete)
        if answer is None:
            chosen = next((option for option in complete if option.get('recommended')), complete[0])
            why = 'which you recommend' if chosen.get('recommended') else 'the first option'
            text = f'Nobody is here to ask: go on with {chosen["label"]!r}, {why}, and say that you assumed it.'
            return ToolReturn(text, metadata=_decided(question, f'{chosen["label"]}, as nobody was here'))
        answer = answer.strip()
        if not answer:
            raise ToolFailed('The person did not answer, and agreed to nothing.')
        verb = 'chose' if answer in labels else 'answered'
        return ToolReturn(f'The person {verb}: {answer}', metadata=_decided(question, answer))

    async def save_plan(
        self,
        ctx: RunContext[Any],
        title: str,
        steps: _Steps,
        context: str = '',
        decisions: _Lines = (),
        notes: str = '',
    ) -> ToolReturn[str]:
        """Save a plan as a new Markdown file. Returns its path.

        Args:
            context: Why, and how things are now.
            decisions: What was decided, each with its reason.
        """
        files = Files(ctx, Memory())
        async with files.alone(await locate_own(files, self.plans_dir)):
            change = await self._new_plan(files, title, context, decisions, steps, notes)
            try:
                await change.make(files)
            except ToolFailed as error:
                raise ToolFailed(f'The plan was not saved. {error}') from error
        return replace(change.result(anchors=False), return_value=f'Saved as {change.place.shown}.')

    async def _new_plan(
        self, files: Files, title: str, context: str, decisions: Sequence[str], steps: Sequence[PlanStep], notes: str
    ) -> Change:
        text = format_plan(title, context=context, decisions=decisions, steps=steps, notes=notes)
        return Change(await self._free_place(files, title), None, TextFile().with_text(text), None)

    async def _free_place(self, files: Files, title: str) -> Place:
        """Return where no file is yet: a plan never replaces another."""
        name = safe_name(title, fallback='plan')
        number = 1
        while True:
            numbered = name if number == 1 else f'{name}-{number}'
            place = await locate_own(files, posixpath.join(self.plans_dir, f'{numbered}.md'))
            with answering(place.shown):
                if not await files.workspace.exists(place.path):
                    return place
            number += 1

    async def _preview(self, ctx: RunContext[Any], args: dict[str, Any]) -> Preview:
        change = await self._new_plan(
            Files(ctx, Memory()),
            args['title'],
            args.get('context', ''),
            args.get('decisions', ()),
            args['steps'],
            args.get('notes', ''),
        )
        return replace(change.preview(), editable=None)


def create_plan_toolset(plans_dir: str = DEFAULT_PLANS_DIR, *, id: str | None = 'plan') -> PlanToolset[Any]:
    """Return the tools of planning, for an agent that is built from toolsets, such as a planner subagent.

    Args:
        plans_dir: Where plans are saved.
        id: Distinguishes it from other toolsets of the agent.
    """
    return PlanToolset(plans_dir, id=id)


@dataclass
class PlanCapability(AbstractCapability[AgentDepsT]):
    """Ask the person to decide, through `deps.ask_user`, and save plans.

    Where nobody is there to ask, the recommended option is taken, or the first. A plan is a new file in `plans_dir`,
    named after its title; none is ever replaced. In the agent's own spot it is saved without a question (`own_files`
    says why).
    """

    plans_dir: str = DEFAULT_PLANS_DIR

    id: str | None = field(default='plan', kw_only=True)
    description: str | None = field(default='Ask the person to choose between options; save a plan.', kw_only=True)

    def get_toolset(self) -> PlanToolset[AgentDepsT]:
        """Return the tools."""
        return PlanToolset(self.plans_dir, id=self.id)


_NOTHING = 'None.'
_QUESTION_SHOWN = 70
"""Characters of a question that are shown before its answer."""


def _complete(option: AskOption) -> AskOption:
    return AskOption(
        label=_one_line(option['label']),
        description=option.get('description', '').strip(),
        recommended=option.get('recommended', False),
    )


def _one_line(text: str) -> str:
    return ' '.join(text.split())


def _decided(question: str, answer: str) -> dict[str, str]:
    """Return what the person reads of a decision: the question, shortened, and the answer."""
    asked = _one_line(question)
    asked = asked if len(asked) <= _QUESTION_SHOWN else f'{asked[: _QUESTION_SHOWN - 1]}…'
    return {'summary': f'{asked} → {_one_line(answer)}'}


def _list(items: Iterable[str]) -> str:
    return '\n'.join(f'- {item.strip()}' for item in items) or _NOTHING


def _step(number: int, step: PlanStep) -> str:
    files = ', '.join(f'`{path}`' for path in step.get('files', []))
    lines = [f'- **Files**: {files}'] if files else []
    if 'action' in step:
        lines.append(f'- **Action**: {step["action"]}')
    parts = [f'### Step {number}: {_one_line(step["title"])}', '\n'.join(lines), step.get('details', '').strip()]
    return '\n\n'.join(filter(None, parts))


def _files_summary(steps: Iterable[PlanStep]) -> list[str]:
    """Return each file once, with what happens to it and in which steps."""
    actions: dict[str, list[str]] = {}
    for number, step in enumerate(steps, 1):
        for path in step.get('files', []):
            action = f'{step["action"]} (step {number})' if 'action' in step else f'step {number}'
            actions.setdefault(path, []).append(action)
    return [f'`{path}`: {", ".join(happens)}' for path, happens in actions.items()]
