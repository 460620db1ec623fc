import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyOps, DeltaError } from '../src/delta';
import type { Op } from '../src/protocol';
import { fixture } from './fixtures';

for (const { before, ops, after } of fixture<{ before: unknown; ops: Op[]; after: unknown }[]>('deltas.json')) {
  test(`${JSON.stringify(ops).slice(0, 80)} leads from before to after, and leaves before alone`, () => {
    const untouched = structuredClone(before);
    assert.deepEqual(applyOps(before, ops), after);
    assert.deepEqual(before, untouched);
  });
}

test('what did not change keeps its identity', () => {
  const state = { steps: [{ a: 1 }, { a: 2 }], todos: [] };
  const next = applyOps(state, [['set', ['steps', 1, 'a'], 3]]);
  assert.equal(next.steps[0], state.steps[0]);
  assert.equal(next.todos, state.todos);
  assert.notEqual(next.steps[1], state.steps[1]);
});

const UNFIT: Op[] = [
  ['append', ['answer'], 'x'],
  ['set', ['steps', 4, 'status'], 'ok'],
  ['push', ['title'], [1]],
  ['set', ['steps', 'length'], 0],
  ['append', ['steps'], 'x'],
  ['set', ['__proto__', 'polluted'], true],
];
for (const op of UNFIT) {
  test(`an operation that does not fit is refused: ${JSON.stringify(op)}`, () => {
    assert.throws(() => applyOps({ title: 'a', steps: [{ status: 'running' }] }, [op]), DeltaError);
  });
}
