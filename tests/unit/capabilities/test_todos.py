from __future__ import annotations

import asyncio

import pytest

from deep_notebook.capabilities.events import TodosChangedEvent
from deep_notebook.capabilities.todos import Todo, Todos, todo_prompt
from harness.play import Deps, play

pytestmark = pytest.mark.anyio


def write(*items: tuple[str, str]) -> tuple[str, dict[str, object]]:
    return 'write_todos', {'todos': [{'content': content, 'status': status} for content, status in items]}


async def test_the_plan_is_in_deps_and_in_the_stream() -> None:
    deps = Deps()
    played = await play(
        [write(('Read sales.csv', 'in_progress'), ('Write report', 'pending'))],
        [('read_todos', {})],
        capabilities=[Todos()],
        deps=deps,
    )
    assert deps.todos == [
        Todo(id='1', content='Read sales.csv', status='in_progress'),
        Todo(id='2', content='Write report', status='pending'),
    ]
    assert played.texts == ['The list is written: 0 of 2 done.', '- [*] [1] Read sales.csv\n- [ ] [2] Write report']
    assert [event.todos for event in played.events_of(TodosChangedEvent)] == [
        [
            {'id': '1', 'content': 'Read sales.csv', 'status': 'in_progress'},
            {'id': '2', 'content': 'Write report', 'status': 'pending'},
        ]
    ]


async def test_an_item_keeps_its_id_as_long_as_its_words() -> None:
    deps = Deps()
    await play(
        [write(('a', 'in_progress'), ('b', 'pending'))],
        [write(('a', 'completed'), ('new', 'blocked'), ('b', 'in_progress'))],
        capabilities=[Todos()],
        deps=deps,
    )
    assert [(todo.id, todo.content, todo.status) for todo in deps.todos] == [
        ('1', 'a', 'completed'),
        ('3', 'new', 'blocked'),
        ('2', 'b', 'in_progress'),
    ]


async def test_two_lists_in_one_response_lose_nothing_silently() -> None:
    deps = Deps()
    played = await play(
        [write(('a', 'pending')), write(('b', 'pending'))],
        [write(('a', 'pending'), ('b', 'pending'))],
        capabilities=[Todos()],
        deps=deps,
    )
    assert [part.outcome for part in played.returns] == ['success', 'failed', 'success']
    assert '- [ ] [1] a' in played.texts[1]
    assert [todo.content for todo in deps.todos] == ['a', 'b']


async def test_two_runs_of_one_agent_keep_their_own_plans() -> None:
    capabilities = [Todos()]
    one, two = Deps(), Deps()
    await asyncio.gather(
        play([write(('one', 'pending'))], [('read_todos', {})], capabilities=capabilities, deps=one),
        play([write(('two', 'pending'))], [('read_todos', {})], capabilities=capabilities, deps=two),
    )
    assert ([todo.content for todo in one.todos], [todo.content for todo in two.todos]) == (['one'], ['two'])


async def test_without_todos_in_deps_a_run_has_its_own() -> None:
    capabilities = [Todos()]
    first = await play([write(('x', 'pending'))], [('read_todos', {})], capabilities=capabilities)
    second = await play([('read_todos', {})], capabilities=capabilities)
    assert (first.texts[1], second.texts[0]) == ('- [ ] [1] x', 'The list is empty.')


async def test_a_shared_list_stays_the_same_object() -> None:
    deps = Deps()
    shared = deps.todos
    await play([write(('x', 'pending'))], capabilities=[Todos()], deps=deps)
    assert shared is deps.todos
    assert len(shared) == 1


async def test_a_list_given_as_text_is_understood() -> None:
    deps = Deps()
    args = {'todos': '[{"content": "x", "status": "completed"}]'}
    await play([('write_todos', args)], capabilities=[Todos()], deps=deps)
    assert [todo.status for todo in deps.todos] == ['completed']


@pytest.mark.parametrize('live', [False, True])
async def test_the_plan_is_in_the_prompt_only_when_asked_for(live: bool) -> None:
    deps = Deps()
    played = await play([write(('x', 'pending'))], capabilities=[Todos(include_current_todos=live)], deps=deps)
    instructions = [message.instructions for message in played.messages if message.kind == 'request']
    assert ('## Current Todos\n- [ ] [1] x' in (instructions[-1] or '')) is live
    if not live:
        assert len(set(instructions)) == 1
    assert todo_prompt([]) == ''
