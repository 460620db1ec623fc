"""Let the agent look up what was said and done before, also what compression took out of its context."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolReturn
from pydantic_ai.tools import AgentDepsT, Tool
from pydantic_ai.toolsets import FunctionToolset

from ..errors import StoreError
from ..store import ConversationArchives, HistoryArchive, MessageArchive, SearchHit
from .tool_classes import READ
from .tools import MethodTool

__all__ = ['Archive', 'HistorySearch', 'HistorySearchToolset', 'create_history_search_toolset', 'format_hits']

Archive: TypeAlias = HistoryArchive | ConversationArchives | str | Path
"""A notebook's store, archives in memory, or the path of a `messages.json`."""

_CONTEXT_LINES = 5
_MAX_MATCHES = 10
_MAX_CHARS = 12_000
"""The largest result, in characters: about 3,000 tokens."""


class _Search:
    """The tool, over one archive."""

    def __init__(self, archive: Archive) -> None:
        self._archive = MessageArchive(archive) if isinstance(archive, (str, Path)) else archive

    def tools(self) -> list[Tool[Any]]:
        """Return the tool."""
        return [MethodTool(self.search_conversation_history, metadata={**READ})]

    async def search_conversation_history(self, ctx: RunContext[Any], query: str) -> ToolReturn[str]:
        """Find what was said or done earlier, also what you no longer see. Best matches first, with lines around.

        Args:
            query: Words that were used then.
        """
        if not any(map(str.isalnum, query)):
            raise ToolFailed('There is no word in the query: give words that were used then.')
        try:
            hits = await self._hits(ctx, query)
        except StoreError as error:
            raise ToolFailed(f'{error} Nothing could be searched.') from error
        count = f'{len(hits)} match{"" if len(hits) == 1 else "es"}'
        return ToolReturn(format_hits(hits), metadata={'summary': f'{query[:80]} · {count}'})

    async def _hits(self, ctx: RunContext[Any], query: str) -> list[SearchHit]:
        archive = self._archive
        if isinstance(archive, ConversationArchives):
            archive = archive.of(ctx.conversation_id)
        if not isinstance(archive, MessageArchive):
            return await archive.search(query, limit=_MAX_MATCHES, context=_CONTEXT_LINES)
        return await archive.search(
            query,
            limit=_MAX_MATCHES,
            context=_CONTEXT_LINES,
            earlier=[message for message in ctx.messages if message.run_id != ctx.run_id],
            current=[message for message in ctx.messages if message.run_id == ctx.run_id],
        )


@dataclass
class HistorySearch(AbstractCapability[AgentDepsT]):
    """The tool `search_conversation_history`: up to ten matches, each with five lines before and after it.

    What the run in progress has said itself is not found while the model still sees it. Without an archive, what is
    found is what is in the history that the run was given.
    """

    archive: Archive = field(default_factory=ConversationArchives)
    """Where to search; what a `ContextManagerCapability` with the same archive compresses is found."""

    id: str | None = field(default='history_search', kw_only=True)
    description: str | None = field(default='Search everything that was said or done earlier.', kw_only=True)

    _search: _Search = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._search = _Search(self.archive)

    def get_toolset(self) -> FunctionToolset[AgentDepsT]:
        """Return the tool."""
        return FunctionToolset(self._search.tools(), id=self.id)


class HistorySearchToolset(FunctionToolset[AgentDepsT]):
    """`HistorySearch` as a toolset, for an agent that is built from toolsets.

    Args:
        messages_path: The `messages.json` to search.
        id: Distinguishes it from other toolsets of the agent.
    """

    def __init__(self, messages_path: str | Path, *, id: str = 'history_search') -> None:
        super().__init__(_Search(messages_path).tools(), id=id)
        self.messages_path = messages_path


def create_history_search_toolset(
    messages_path: str | Path, *, id: str = 'history_search'
) -> HistorySearchToolset[Any]:
    """Return a toolset with `search_conversation_history` over a `messages.json`.

    Args:
        messages_path: The file, as a `ContextManagerCapability` writes it.
        id: Distinguishes it from other toolsets of the agent.
    """
    return HistorySearchToolset(messages_path, id=id)


def format_hits(hits: Sequence[SearchHit]) -> str:
    """Return what was found as text: each match marked with `>`, among the lines around it."""
    if not hits:
        return 'Nothing was found. Other words may have been used: try fewer, or one.'
    blocks: list[list[str]] = []
    for number, hit in enumerate(hits):
        line = f'[{hit.message}] {hit.speaker}: {hit.snippet}'
        around = next((block for block in blocks if f'  {line}' in block), None)
        if around is not None:
            around[around.index(f'  {line}')] = f'> {line}'
            continue
        where = [] if hit.run is None else [f'run {hit.run}:']
        blocks.append([*where, *_indented(hit.before), f'> {line}', *_indented(hit.after)])
        if sum(map(len, itertools.chain(*blocks))) > _MAX_CHARS and len(blocks) > 1:
            left_out = len(hits) - number
            blocks[-1] = [f'… {left_out} more match{"es" if left_out != 1 else ""}: search for less common words.']
            break
    return '\n\n'.join(map('\n'.join, blocks))


def _indented(lines: Sequence[str]) -> list[str]:
    return [f'  {line}' for line in lines]
