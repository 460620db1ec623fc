"""How one reply of the embedded model comes about: decide on a tool, write what belongs to it, try again once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace

from pydantic_ai import UnexpectedModelBehavior
from pydantic_ai.messages import InstructionPart, ModelMessage, ToolCallPart

from deep_notebook.errors import UsageError

from .embedded_completion import RunningCompletion
from .embedded_prompt import render, with_note
from .embedded_runtime import Complete, Completion, CompletionRequest, PromptTooLong
from .embedded_tools import ANSWER, Catalogue, Reply, UnreadableReply
from .embedded_turn import Turn

__all__ = ['Spent', 'Writer']

TRIES = 3
"""How often one reply is begun: a cut-off reply and a repeated call are both asked for anew."""
CALL_TOKENS = 400
"""The bound of the JSON object of a reply."""
PLAIN_TOKENS = 800
"""The bound of an answer where the agent has no tools."""
CUT_OFF = 'Your last reply was cut off. Reply again, much shorter.'
FAILED = 'That failed. Tell the user plainly what failed, and claim nothing else.'
NEXT_SPEAKER = ('\nUser:', '\n{"tool"', '\nResult of ')
"""Where an answer goes on to imagine what follows it, as in the examples."""


@dataclass(kw_only=True)
class Spent:
    """Tokens of one reply. What is asked for anew counts again; the second step reads what the first one did."""

    input: int = 0
    cached: int = 0
    output: int = 0


@dataclass(kw_only=True)
class Writer:
    """Writes one reply; `spent` and `cut_off` say afterwards what it took and whether the answer is whole."""

    complete: Complete
    messages: Sequence[ModelMessage]
    instructions: Sequence[InstructionPart]
    catalogue: Catalogue | None
    max_tokens: int | None = None
    spent: Spent = field(default_factory=Spent)
    cut_off: bool = False
    _running: RunningCompletion | None = None
    _stopped: bool = False

    def stop(self) -> None:
        """Stop writing: the completion that is under way ends, no other begins."""
        self._stopped = True
        if self._running is not None:
            self._running.stop()

    async def write(self) -> AsyncIterator[str | ToolCallPart]:
        """Give the answer piece by piece, or one tool call.

        Raises:
            UsageError: the prompt does not fit or is not text, or the model is not here.
            UnexpectedModelBehavior: the reply was cut off however often it was asked for.
        """
        prompt = render(self.messages, self.catalogue, self.instructions)
        try:
            if self.catalogue is None:
                async for piece in self._answer(prompt, PLAIN_TOKENS, ()):
                    yield piece
            else:
                async for item in self._reply(prompt, self.catalogue):
                    yield item
        except PromptTooLong as error:
            raise UsageError(f'{error} Shorten the prompt, start anew with --new, or choose another model.') from error

    async def _reply(self, prompt: str, catalogue: Catalogue) -> AsyncIterator[str | ToolCallPart]:
        turn = Turn.of(self.messages)
        barred = turn.barred(catalogue)
        for _ in range(TRIES):
            try:
                reply = await self._decide(prompt, catalogue, barred)
                if reply.tool.name == ANSWER:
                    prompt = with_note(prompt, FAILED) if turn.unmended else prompt
                    head, _ = catalogue.head(ANSWER, {})
                    body = reply.tool.body
                    limit = body.max_tokens if body else PLAIN_TOKENS
                    async for piece in self._answer(f'{prompt}{head}\n', limit, NEXT_SPEAKER):
                        yield piece
                    return
                reply = await self._with_body(prompt, catalogue, reply)
            except UnreadableReply:
                if self._stopped:
                    return
                prompt = with_note(prompt, CUT_OFF)
                continue
            arguments = reply.call_arguments()
            if turn.repeats(reply.tool.name, arguments):
                barred |= {reply.tool.name}
                if all(tool.name in barred for tool in catalogue.tools):
                    barred -= {ANSWER}
                continue
            yield ToolCallPart(reply.tool.name, arguments)
            return
        raise UnexpectedModelBehavior(
            'The embedded model found no usable reply: ask for less at once, or choose another model.'
        )

    async def _decide(self, prompt: str, catalogue: Catalogue, barred: frozenset[str]) -> Reply:
        """Have the JSON object written, unless only one tool is left to name."""
        left = [tool for tool in catalogue.tools if tool.name not in barred]
        if len(left) == 1 and not left[0].properties:
            return Reply(tool=left[0], arguments={})
        request = CompletionRequest(prompt=prompt, max_tokens=CALL_TOKENS, schema=catalogue.schema(without=barred))
        completion = await self._whole(request)
        return catalogue.parse(completion.text)

    async def _with_body(self, prompt: str, catalogue: Catalogue, reply: Reply) -> Reply:
        """Have the block written that belongs to `reply`, if any."""
        body = reply.tool.body
        if body is None:
            return reply
        head, _ = catalogue.head(reply.tool.name, reply.arguments)
        request = CompletionRequest(
            prompt=f'{prompt}{head}{body.opening}',
            max_tokens=body.max_tokens,
            stop=(body.closing, body.closing.strip()),
        )
        completion = await self._whole(request, goes_on=True)
        if completion.finish != 'stop' or not completion.text.strip():
            raise UnreadableReply(completion.text)
        return replace(reply, body=completion.text)

    async def _answer(self, prompt: str, limit: int, stop: tuple[str, ...]) -> AsyncIterator[str]:
        request = CompletionRequest(prompt=prompt, max_tokens=min(limit, self.max_tokens or limit), stop=stop)
        begun = False
        async with RunningCompletion(self.complete, request) as self._running:
            async for piece in self._running:
                shown = piece if begun else piece.lstrip()
                if shown:
                    begun = True
                    yield shown
            completion = self._running.completion
        self.cut_off = completion.finish == 'length'
        self._spend(completion, goes_on=self.spent.input > 0)

    async def _whole(self, request: CompletionRequest, *, goes_on: bool = False) -> Completion:
        if self._stopped:
            raise UnreadableReply('stopped')
        async with RunningCompletion(self.complete, request) as self._running:
            async for _ in self._running:
                pass
            completion = self._running.completion
        self._spend(completion, goes_on=goes_on)
        return completion

    def _spend(self, completion: Completion, *, goes_on: bool) -> None:
        if not goes_on:
            self.spent.input += completion.prompt_tokens
            self.spent.cached += completion.cached_tokens
        self.spent.output += completion.output_tokens
