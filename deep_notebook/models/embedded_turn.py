"""What happened since the person last spoke, and which tools the embedded model may therefore name next.

The small model repeats itself, plans what needs no plan, and ticks off what failed. Barring a tool for one reply costs
nothing (it is left out of the schema, the text stays and stays cached) and leaves every choice to the model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from .embedded_tools import ANSWER, Catalogue, failed

__all__ = ['MAX_REQUESTS', 'Turn']

MAX_REQUESTS = 8
"""How many requests a run on this model takes at most; at the last one it can only answer."""
MENDABLE = 2
"""How many failures of a turn have to be answered by another try."""
_ASKS_FOR_A_PLAN = re.compile(r'\b(plan|plans|planning|to-?dos?|step by step|steps)\b', re.IGNORECASE)
_NAMES_DATA = re.compile(r'\.(csv|tsv|jsonl?|ndjson|xlsx?|parquet|log)\b', re.IGNORECASE)
_ASKS_FOR_A_FILE = re.compile(
    r'\w\.(?!(?:csv|tsv|jsonl?|ndjson|xlsx?|parquet|log)\b)[a-z]\w{0,4}\b'
    r'|\b(write|save|store|create|add|edit|update|change|fix|file|note|report|document)'
    r'|\b(schreib|speicher|erstell|datei|notier|écri|enregistr|crée|fichier|escrib|guard|crea|archivo)',
    re.IGNORECASE,
)
"""A file name that is not one of data, or words that want one (English, German, French, Spanish)."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """The turn under way: the prompt, the model's calls so far, the results of the latest one."""

    prompt: str
    requests: int
    calls: Sequence[tuple[str, dict[str, Any]]]
    results: Sequence[ToolReturnPart]
    failures: int
    call_failed: bool
    """Whether the latest call failed."""
    code_failed: bool
    """Whether the latest code failed, whatever was called since."""

    @classmethod
    def of(cls, messages: Sequence[ModelMessage]) -> Turn:
        """Read the turn under way off the end of `messages`."""
        start = max((n for n, message in enumerate(messages) if _person_speaks(message)), default=0)
        requests = [message for message in messages[start:] if isinstance(message, ModelRequest)]
        responses = [message for message in messages[start:] if isinstance(message, ModelResponse)]
        results = [part for request in requests for part in request.parts if isinstance(part, ToolReturnPart)]
        last = [part for part in requests[-1].parts if isinstance(part, ToolReturnPart)] if requests else []
        code = [part for part in results if part.tool_name == 'run_python']
        return cls(
            prompt=' '.join(str(p.content) for r in requests[:1] for p in r.parts if isinstance(p, UserPromptPart)),
            requests=len(responses),
            calls=[
                (part.tool_name, part.args_as_dict())
                for response in responses
                for part in response.parts
                if isinstance(part, ToolCallPart)
            ],
            results=last,
            failures=sum(failed(part) for part in results),
            call_failed=any(failed(part) for part in last),
            code_failed=any(failed(part) for part in code[-1:]),
        )

    def repeats(self, name: str, arguments: dict[str, Any]) -> bool:
        """Whether this very call was one of the last two."""
        return (name, arguments) in self.calls[-2:]

    def barred(self, catalogue: Catalogue) -> frozenset[str]:
        """The names of the tools that may not come next; never all of them.

        Left alone, the model makes up what it does not know and writes files that nobody asked for. So it may write
        only if the prompt speaks of a file; before it writes or answers about data it has to look; after failed code
        it may look once, then has to mend the code before it writes or reports. What the person denied stays denied.
        """
        every = frozenset(tool.name for tool in catalogue.tools)
        if self.is_at_an_end:
            return every - {ANSWER}
        barred = {part.tool_name for part in self.results if part.outcome == 'denied'}
        if self.unmended:
            barred |= {ANSWER, 'write_todos'}
        if self.code_failed:
            barred |= {'write_file'} if self.call_failed else every - {'run_python'}
        if not self._may_plan():
            barred.add('write_todos')
        if _NAMES_DATA.search(self.prompt) and not self._has_looked():
            barred |= {ANSWER, 'write_file'}
        if not _ASKS_FOR_A_FILE.search(self.prompt):
            barred.add('write_file')
        return every & barred if every - barred else every - {ANSWER}

    @property
    def is_at_an_end(self) -> bool:
        """Whether only an answer may come: no request is left for more, or mending failed."""
        return self.requests >= MAX_REQUESTS - 1 or (self.unmended and self.failures > MENDABLE)

    @property
    def unmended(self) -> bool:
        """Whether something failed and nothing mended it."""
        return self.call_failed or self.code_failed

    def _has_looked(self) -> bool:
        """Whether anything was called in this turn but the plan."""
        return any(name != 'write_todos' for name, _ in self.calls)

    def _may_plan(self) -> bool:
        """Whether the person asked for a plan or there is one, and the latest call did not just write it."""
        names = [name for name, _ in self.calls]
        wanted = 'write_todos' in names or _ASKS_FOR_A_PLAN.search(self.prompt) is not None
        return wanted and names[-1:] != ['write_todos']


def _person_speaks(message: ModelMessage) -> bool:
    return isinstance(message, ModelRequest) and any(isinstance(part, UserPromptPart) for part in message.parts)
