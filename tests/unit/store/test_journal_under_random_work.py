"""Whatever an agent and a person do in turn: going back brings the agent's work back to where it was, and no more."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deep_notebook.store import SessionStore, session_path
from harness.journal import Agent, tree, what_is_at

PLACES = ('a', 'd', 'd/a', 'd/e', 'd/e/b', 'c/f')
TEXTS = (b'', b'one', b'two', b'\xff\x00three')
TARGETS = ('nowhere', 'a', 'd', '../a')


@dataclass(frozen=True)
class Change:
    """Something that happens to a path."""

    do: Literal['write', 'append', 'chmod', 'remove', 'link', 'mkdir']
    place: str
    text: bytes = b''

    def apply(self, root: Path) -> None:
        path = root / self.place
        try:
            if self.do == 'remove':
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            elif self.do == 'mkdir':
                path.mkdir(parents=True)
            elif self.do == 'chmod':
                path.chmod(0o600 if path.is_file() and path.stat().st_mode & 0o040 else 0o644, follow_symlinks=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                if self.do == 'link':
                    path.unlink(missing_ok=True)
                    path.symlink_to(TARGETS[TEXTS.index(self.text)])
                else:
                    with path.open('wb' if self.do == 'write' else 'ab') as file:
                        file.write(self.text)
        except OSError:
            pass  # as a command that fails


@dataclass(frozen=True)
class Step:
    """A call of the agent, or something that the person does."""

    who: Literal['tool', 'command', 'person']
    changes: tuple[Change, ...]

    async def apply(self, agent: Agent) -> None:
        if self.who == 'person':
            for change in self.changes:
                change.apply(agent.root)
        elif self.who == 'command':
            async with agent.executes() as gaps:
                for change in self.changes:
                    change.apply(agent.root)
            assert gaps == []
        else:
            for change in self.changes:
                try:
                    if change.do == 'remove':
                        await agent.removes(change.place)
                    else:
                        await agent.writes(change.place, change.text)
                except OSError:
                    pass  # a directory is there, or a file where a directory has to be


CHANGES = st.builds(
    Change,
    do=st.sampled_from(['write', 'append', 'chmod', 'remove', 'link', 'mkdir']),
    place=st.sampled_from(PLACES),
    text=st.sampled_from(TEXTS),
)
STEPS = st.builds(
    Step,
    who=st.sampled_from(['tool', 'command', 'command', 'person']),
    changes=st.lists(CHANGES, min_size=1, max_size=4).map(tuple),
)


def files(root: Path) -> dict[str, object]:
    return {name: what for name, what in tree(root).items() if not isinstance(what, int)}


def related(place: str, places: Iterable[str]) -> bool:
    return any(place == other or place.startswith(f'{other}/') or other.startswith(f'{place}/') for other in places)


async def go_back_and_forth(root: Path, before: list[Step], after: list[Step]) -> None:
    with SessionStore.open(session_path(root / 'sales.ipynb')) as store:
        agent = Agent(root, store)
        for step in before:
            await step.apply(agent)
        position = await agent.journal.position()
        then = files(root)
        persons: dict[str, object] = {}
        for step in after:
            was = tree(root)
            await step.apply(agent)
            if step.who == 'person':
                now = tree(root)
                persons |= {name: now.get(name) for name in was | now if was.get(name) != now.get(name)}
        at_the_end = tree(root)

        plans = await agent.journal.plan(position)
        for plan in plans:
            assert not plan.yours or related(plan.path, persons), plan
            assert plan.possible or related(plan.path, persons), plan
        change = await agent.journal.restore(
            [plan for plan in plans if plan.possible and not plan.yours], source='rewind'
        )
        for name in then.keys() | files(root).keys():
            if not related(name, persons):
                assert what_is_at(root / name) == then.get(name), name
        planned = {plan.path for plan in plans}
        for name, what in persons.items():
            is_needed = any(path == name or path.startswith(f'{name}/') for path in planned)
            if not is_needed and what == at_the_end.get(name) and not isinstance(what, int):
                assert what_is_at(root / name) == what, name

        await agent.takes_back(change)
        assert tree(root) == at_the_end


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(before=st.lists(STEPS, max_size=4), after=st.lists(STEPS, min_size=1, max_size=5))
def test_going_back_brings_back_what_the_agent_changed_and_no_more(before: list[Step], after: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as root:
        asyncio.run(go_back_and_forth(Path(root), before, after))
