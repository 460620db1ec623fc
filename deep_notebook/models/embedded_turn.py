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
    ERROR_OUTCOMES,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from .embedded_tools import ANSWER, Catalogue

__all__ = ['MAX_REQUESTS', 'Turn']

MAX_REQUESTS = 8
"""How many requests a run on this model takes at most; at the last one it can only answer."""
MENDABLE = 2
"""How many failures of a turn have to be answered by another try."""
_ASKS_FOR_A_PLAN = re.compile(r'\b(plan|plans|planning|to-?dos?|step by step|steps)\b', re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Turn:
    """The turn under way: the prompt, the model's calls so far, the results of the latest one."""

    prompt: str
    requests: int
    calls: Sequence[tuple[str, dict[str, Any]]]
    results: Sequence[ToolReturnPart]
    failures: int

    @classmethod
    def of(cls, messages: Sequence[ModelMessage]) -> Turn:
        """Read the turn under way off the end of `messages`."""
        start = max((n for n, message in enumerate(messages) if _person_speaks(message)), default=0)
        requests = [message for message in messages[start:] if isinstance(message, ModelRequest)]
        responses = [message for message in messages[start:] if isinstance(message, ModelResponse)]
        results = [part for request in requests for part in request.parts if isinstance(part, ToolReturnPart)]
        last = requests[-1].parts if requests else ()
        return cls(
            prompt=' '.join(str(p.content) for r in requests[:1] for p in r.parts if isinstance(p, UserPromptPart)),
            requests=len(responses),
            calls=[
                (part.tool_name, part.args_as_dict())
                for response in responses
                for part in response.parts
                if isinstance(part, ToolCallPart)
            ],
            results=[part for part in last if isinstance(part, ToolReturnPart)],
            failures=sum(part.outcome in ERROR_OUTCOMES for part in results),
        )

    def repeats(self, name: str, arguments: dict[str, Any]) -> bool:
        """Whether this very call was one of the last two."""
        return (name, arguments) in self.calls[-2:]

    def barred(self, catalogue: Catalogue) -> frozenset[str]:
        """The names of the tools that may not come next; never all of them."""
        if self.requests >= MAX_REQUESTS - 1:
            return frozenset(tool.name for tool in catalogue.tools) - {ANSWER}
        barred: set[str] = set()
        just_failed = any(part.outcome in ERROR_OUTCOMES for part in self.results)
        names = [name for name, _ in self.calls]
        planned = 'write_todos' in names or _ASKS_FOR_A_PLAN.search(self.prompt)
        if not planned or names[-1:] == ['write_todos'] or just_failed:
            barred.add('write_todos')
        if just_failed and self.failures <= MENDABLE:
            barred.add(ANSWER)
        return frozenset(barred)


def _person_speaks(message: ModelMessage) -> bool:
    return isinstance(message, ModelRequest) and any(isinstance(part, UserPromptPart) for part in message.parts)
