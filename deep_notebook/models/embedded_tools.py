"""The few tools that the embedded model sees, in few words, and how its replies become tool calls.

A 1.5-billion-parameter model reads 74 tokens a second and loses its way in long catalogues, so an agent's tools
are described anew: the well-known ones by a hand-written line, any other by its name, its required arguments and
its first sentence. A reply is one JSON object; text that would suffer inside a JSON string (code, a file, the
answer) follows it in a block of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai.messages import ERROR_OUTCOMES, ToolReturnPart
from pydantic_ai.tools import ToolDefinition

__all__ = ['ANSWER', 'LOADERS', 'Catalogue', 'CompactTool', 'Reply', 'UnreadableReply', 'failed']

ANSWER = 'answer'
"""The pseudo tool by which the model ends its turn; what it says to the person follows."""
MAX_OTHER_TOOLS = 4
"""How many tools beside the well-known ones are shown."""
MAX_SENTENCE = 100
"""Characters of a foreign tool's description."""
LOADERS = frozenset({'load_capability', 'search_tools'})
"""The tools of pydantic-ai that make other tools known: what stays hidden without them is too much for this model."""
LEFT_OUT = (
    LOADERS
    | {'read_todos', 'edit_file', 'glob', 'grep', 'execute', 'task', 'check_subagent'}
    | {'read_memory', 'write_memory', 'update_memory'}
)
"""Tools that this model uses badly or does not need; without them the others go better."""


class UnreadableReply(Exception):
    """What the model wrote is not a whole call of a tool that it may use."""


@dataclass(frozen=True, kw_only=True)
class Body:
    """The block after the JSON object that holds one long text argument."""

    argument: str
    opening: str
    closing: str
    max_tokens: int


@dataclass(frozen=True, kw_only=True)
class CompactTool:
    """One tool as the model sees it: a line of description, a schema without `tool`, perhaps a body."""

    name: str
    line: str
    properties: Mapping[str, Any]
    body: Body | None = None
    definition: ToolDefinition | None = None

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of a reply that calls this tool."""
        return {
            'type': 'object',
            'properties': {'tool': {'const': self.name}, **self.properties},
            'required': ['tool', *self.properties],
            'additionalProperties': False,
        }


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One reply of the model: the tool it names, the arguments in the JSON object, the text of the body."""

    tool: CompactTool
    arguments: Mapping[str, Any]
    body: str = ''

    def call_arguments(self) -> dict[str, Any]:
        """The arguments as the agent's own tool takes them."""
        arguments = dict(self.arguments)
        if self.tool.body is not None:
            arguments[self.tool.body.argument] = self.body
        if self.tool.name == 'write_todos' and self.tool.definition is not None:
            arguments['todos'] = _complete_todos(arguments['todos'], self.tool.definition)
        return arguments


class Catalogue:
    """The compact tools of one request, well-known ones first, `answer` last."""

    def __init__(self, definitions: Sequence[ToolDefinition]) -> None:
        known = [tool for definition in definitions if (tool := _known(definition))]
        known_names = {tool.name for tool in known}
        others = [d for d in definitions if d.name not in known_names | LEFT_OUT]
        others.sort(key=lambda d: d.capability_id is not None)  # the person's own tools before those of features
        self.tools = (
            *sorted(known, key=lambda tool: list(_KNOWN).index(tool.name)),
            *(_foreign(definition) for definition in others[:MAX_OTHER_TOOLS]),
            _ANSWER,
        )
        self._by_name = {tool.name: tool for tool in self.tools}

    def get(self, name: str) -> CompactTool | None:
        """The tool called `name`, if the model sees it."""
        return self._by_name.get(name)

    def schema(self, *, without: frozenset[str] = frozenset()) -> dict[str, Any]:
        """The schema of a reply: one of the tools, those named in `without` barred."""
        return {'oneOf': [tool.schema for tool in self.tools if tool.name not in without]}

    def parse(self, text: str) -> Reply:
        """Read the JSON object of a reply.

        Raises:
            UnreadableReply: it is cut off, or names no tool of this catalogue.
        """
        try:
            arguments = json.loads(text)
        except ValueError as error:
            raise UnreadableReply(text) from error
        tool = self.get(arguments.pop('tool', '')) if isinstance(arguments, dict) else None
        if tool is None or set(arguments) != set(tool.properties):
            raise UnreadableReply(text)
        return Reply(tool=tool, arguments=arguments)

    def head(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, str]:
        """Write a call made earlier as the JSON object and the body that the model would have written."""
        tool = self.get(name)
        if tool is None:
            return json.dumps({'tool': name, **arguments}, ensure_ascii=False), ''
        shown = {key: value for key, value in arguments.items() if key in tool.properties}
        if name == 'write_todos':
            shown['todos'] = [{'content': t.get('content'), 'status': t.get('status')} for t in shown.get('todos', ())]
        body = str(arguments.get(tool.body.argument, '')) if tool.body else ''
        return json.dumps({'tool': name, **shown}, ensure_ascii=False), body


def failed(part: ToolReturnPart) -> bool:
    """Whether a tool failed; code that ended in a traceback counts, though running it was no failure of the tool."""
    if part.outcome != 'success':
        return part.outcome in ERROR_OUTCOMES
    return part.tool_name == 'run_python' and bool(_PYTHON_ERROR.search(part.model_response_str().rstrip()))


_PYTHON_ERROR = re.compile(r'^(\w+\.)*\w*(Error|Exception|Interrupt)\b.*\Z', re.MULTILINE)
_TEXT = {'type': 'string'}
_CODE = Body(argument='code', opening='\n```python\n', closing='\n```', max_tokens=500)
_CONTENT = Body(argument='content', opening='\n<content>\n', closing='\n</content>', max_tokens=700)
_ANSWER = CompactTool(
    name=ANSWER,
    line='{"tool": "answer"} ends the task; your words to the user follow',
    properties={},
    body=Body(argument='text', opening='\n', closing='', max_tokens=600),
)
_TODOS = {
    'type': 'array',
    'minItems': 1,
    'maxItems': 6,
    'items': {
        'type': 'object',
        'properties': {'content': _TEXT, 'status': {'enum': ['pending', 'in_progress', 'completed']}},
        'required': ['content', 'status'],
        'additionalProperties': False,
    },
}


@dataclass(frozen=True, kw_only=True)
class _Known:
    line: str
    properties: Mapping[str, Any]
    body: Body | None = None


_KNOWN: dict[str, _Known] = {
    'write_todos': _Known(
        line='{"tool": "write_todos", "todos": [{"content": "...", "status": "pending"}]} keeps the plan',
        properties={'todos': _TODOS},
    ),
    'ls': _Known(line='{"tool": "ls", "path": "."} lists a directory', properties={'path': _TEXT}),
    'read_file': _Known(line='{"tool": "read_file", "path": "..."} shows a text file', properties={'path': _TEXT}),
    'write_file': _Known(
        line='{"tool": "write_file", "path": "..."} writes a file; its text follows between <content> and </content>',
        properties={'path': _TEXT},
        body=_CONTENT,
    ),
    'run_python': _Known(
        line='{"tool": "run_python"} runs Python; a ```python block follows. Read CSV with csv.DictReader',
        properties={},
        body=_CODE,
    ),
}
"""The tools with a hand-written line, in the order in which the model sees them."""


def _known(definition: ToolDefinition) -> CompactTool | None:
    """The hand-written form of `definition`, or None if it is another tool or takes other arguments by now."""
    known = _KNOWN.get(definition.name)
    if known is None:
        return None
    given = {*known.properties, *([known.body.argument] if known.body else [])}
    schema = definition.parameters_json_schema
    if not set(schema.get('required', ())) <= given or not given <= set(schema.get('properties', {})):
        return None
    return CompactTool(
        name=definition.name, line=known.line, properties=known.properties, body=known.body, definition=definition
    )


def _foreign(definition: ToolDefinition) -> CompactTool:
    schema = definition.parameters_json_schema
    definitions = schema.get('$defs', {})
    required = schema.get('required', ())
    properties = {
        name: _inlined(value, definitions) for name, value in schema.get('properties', {}).items() if name in required
    }
    example = json.dumps({'tool': definition.name, **dict.fromkeys(properties, '...')})
    sentence = re.split(r'(?<=[.!?])\s|\n', (definition.description or '').strip(), maxsplit=1)[0][:MAX_SENTENCE]
    return CompactTool(
        name=definition.name, line=f'{example} {sentence}'.strip(), properties=properties, definition=definition
    )


def _inlined(schema: Any, definitions: Mapping[str, Any], depth: int = 0) -> Any:
    """`schema` with its references resolved, since the properties leave the schema that defines them.

    What lies deeper than five levels (a recursive type) accepts anything; the tool itself checks it.
    """
    if isinstance(schema, list):
        return [_inlined(item, definitions, depth) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if reference := schema.get('$ref'):
        if depth == 5:
            return {}
        return _inlined(definitions.get(str(reference).rpartition('/')[2], {}), definitions, depth + 1)
    return {key: _inlined(value, definitions, depth) for key, value in schema.items() if key != 'description'}


def _complete_todos(todos: Sequence[Mapping[str, Any]], definition: ToolDefinition) -> list[dict[str, Any]]:
    """Add to each item the fields that the agent's own tool requires beyond those that the model writes."""
    schema = definition.parameters_json_schema
    items = _inlined(schema['properties']['todos'], schema.get('$defs', {})).get('items', {})
    required = [name for name in items.get('required', ()) if name not in ('content', 'status')]
    return [
        {**todo, **{name: str(number) if name == 'id' else todo['content'] for name in required}}
        for number, todo in enumerate(todos, 1)
    ]
