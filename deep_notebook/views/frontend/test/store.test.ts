import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { FakeModel } from '../dev/model';
import { done, questions, running, waiting } from '../dev/states';
import type { RunState } from '../src/protocol';
import { RunStore, TIMES } from '../src/store';

let now = 0;
beforeEach(() => {
  now = 0;
  mock.restoreAll();
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  mock.method(performance, 'now', () => now);
  mock.method(console, 'warn', () => undefined);
});

function pass(milliseconds: number): void {
  now += milliseconds;
  mock.timers.tick(milliseconds);
}

function open(state: RunState = waiting, alive = true): { model: FakeModel; store: RunStore } {
  const model = new FakeModel(state, alive);
  return { model, store: new RunStore(model) };
}

test('the state is there before a word was exchanged, and then it says that it is ready', () => {
  const { model, store } = open(waiting, false);
  assert.deepEqual(store.state, waiting);
  assert.deepEqual(model.sent, [{ kind: 'ready' }]);
  assert.equal(store.connection, 'connecting');
});

test('patches follow each other', () => {
  const { model, store } = open(running);
  model.tell({ kind: 'patch', seq: 1, ops: [['append', ['answer'], 'port.']] });
  model.tell({ kind: 'patch', seq: 2, ops: [['set', ['phase'], 'done']] });
  assert.equal(store.state?.answer, `${running.answer}port.`);
  assert.equal(store.state?.phase, 'done');
  assert.equal(model.of('resync').length, 0);
});

test('a patch that is missing is asked for once, and nothing is drawn from what follows it', () => {
  const { model, store } = open(running, false);
  model.tell({ kind: 'patch', seq: 2, ops: [['append', ['answer'], '!']] });
  model.tell({ kind: 'patch', seq: 3, ops: [['append', ['answer'], '?']] });
  assert.equal(store.state?.answer, running.answer);
  assert.equal(model.of('resync').length, 1);
  model.tell({ kind: 'snapshot', seq: 3, state: done });
  model.tell({ kind: 'patch', seq: 4, ops: [['append', ['answer'], '!']] });
  assert.equal(store.state?.answer, `${done.answer}!`);
});

test('a whole state that got lost is asked for again', () => {
  const { model } = open(running, false);
  model.tell({ kind: 'patch', seq: 2, ops: [] });
  pass(TIMES.resync + 1);
  model.tell({ kind: 'patch', seq: 3, ops: [] });
  assert.equal(model.of('resync').length, 2);
});

test('a patch that comes twice counts once', () => {
  const { model, store } = open(running);
  const patch = { kind: 'patch', seq: 1, ops: [['append', ['answer'], '!']] } as const;
  model.tell(patch as never);
  model.tell(patch as never);
  assert.equal(store.state?.answer, `${running.answer}!`);
  assert.equal(model.of('resync').length, 0);
});

test('a patch that does not fit leads to a whole state', () => {
  const { model, store } = open(running);
  model.tell({ kind: 'patch', seq: 1, ops: [['set', ['steps', 99, 'status'], 'ok']] });
  assert.equal(model.of('resync').length, 1);
  assert.deepEqual(store.state, running);
});

test('an answer is sent once, however often it is given', () => {
  const { model, store } = open();
  store.decide('call_3', 'approve');
  store.decide('call_3', 'approve');
  store.decide('call_3', 'deny');
  assert.deepEqual(model.of('decision'), [
    { kind: 'decision', id: 'call_3', verdict: 'approve', text: null, reason: null, scope: 'once' },
  ]);
});

test('an answer that nobody took can be sent again, unchanged', () => {
  const { model, store } = open();
  store.decide('call_3', 'deny', { reason: 'no' });
  store.sendAgain('call_3');
  assert.equal(model.of('decision').length, 1);
  pass(TIMES.decision);
  assert.equal(store.sent('call_3')?.late, true);
  store.sendAgain('call_3');
  const [first, second] = model.of('decision');
  assert.deepEqual(first, second);
});

test('what was sent and what was typed is forgotten when the kernel has the answer', () => {
  const { model, store } = open(questions);
  store.setDraft('call_3', { reason: 'no' });
  store.setDraft('call_4', { reason: 'perhaps' });
  store.decide('call_3', 'deny', { reason: 'no' });
  model.become({ ...questions, approvals: questions.approvals.map((a, i) => (i ? a : { ...a, state: 'denied' })) });
  assert.equal(store.sent('call_3'), undefined);
  assert.equal(store.draft('call_3').reason, '');
  assert.equal(store.draft('call_4').reason, 'perhaps');
});

test('a kernel that never answers is not connected, and takes no clicks', () => {
  const { model, store } = open(waiting, false);
  pass(TIMES.firstAnswer);
  assert.equal(store.connection, 'lost');
  assert.equal(store.announced, 'Not connected to the kernel.');
  store.decide('call_3', 'approve');
  store.stop();
  assert.deepEqual(model.sent, [{ kind: 'ready' }]);
});

test('a line that is cut shows as soon as the kernel does not answer', () => {
  const { model, store } = open();
  model.alive = false;
  model.trigger('comm_live_update');
  pass(TIMES.probeAnswer);
  assert.equal(store.connection, 'lost');
});

test('a line that is cut stays cut, however long nothing is heard', () => {
  const { model, store } = open();
  model.alive = false;
  model.trigger('comm_live_update');
  pass(TIMES.probeAnswer);
  for (let count = 0; count < 10; count += 1) pass(TIMES.silence);
  assert.equal(store.connection, 'lost');
});

test('a line that is cut and mended goes on', () => {
  const { model, store } = open();
  model.trigger('comm_live_update');
  pass(TIMES.probeAnswer);
  assert.equal(store.connection, 'live');
});

test('a closed comm shows at the click', () => {
  const { model, store } = open();
  model.broken = true;
  store.decide('call_3', 'approve');
  assert.equal(store.connection, 'lost');
  assert.equal(store.sent('call_3'), undefined);
});

test('a finished run needs no kernel', () => {
  const { store } = open(done, false);
  pass(TIMES.firstAnswer * 10);
  assert.equal(store.connection, 'connecting');
  assert.equal(store.elapsed(), done.elapsed);
});

test('a kernel that falls silent is asked, and is welcome back', () => {
  const { model, store } = open(running);
  model.alive = false;
  pass(TIMES.silence);
  assert.equal(model.of('resync').length, 1);
  pass(TIMES.probeAnswer);
  assert.equal(store.connection, 'silent');
  assert.equal(store.canAct, true);
  pass(TIMES.silence);
  assert.equal(model.of('resync').length, 2);
  model.tell({ kind: 'patch', seq: 1, ops: [] });
  assert.equal(store.connection, 'live');
});

test('the clock runs while the run does, and stands still when nobody is there to run it', () => {
  const { model, store } = open(running, true);
  pass(5_000);
  assert.equal(store.elapsed(), running.elapsed + 5);
  model.become({ ...running, elapsed: 30 });
  pass(1_000);
  assert.equal(store.elapsed(), 31);
  model.alive = false;
  model.trigger('comm_live_update');
  pass(TIMES.probeAnswer);
  assert.equal(store.elapsed(), 30);
  model.become({ ...done, elapsed: 40 });
  pass(1_000);
  assert.equal(store.elapsed(), 40);
});

test('stop is sent once, until it shows or fails to', () => {
  const { model, store } = open(running);
  store.stop();
  store.stop();
  assert.equal(model.of('stop').length, 1);
  pass(TIMES.decision);
  store.stop();
  assert.equal(model.of('stop').length, 2);
});

test('a store that is gone listens to nothing', () => {
  const { model, store } = open(running);
  store.dispose();
  model.become(done);
  pass(TIMES.silence * 2);
  assert.equal(store.state?.phase, 'running');
  assert.deepEqual(model.sent, [{ kind: 'ready' }]);
});

const SAID: { name: string; from: RunState; to: RunState; sentence: string }[] = [
  { name: 'a question', from: running, to: waiting, sentence: 'Waiting for you: Write report.md?' },
  {
    name: 'several questions',
    from: running,
    to: questions,
    sentence: 'Waiting for you: 3 questions. Write report.md? Run a command? Edit config.yaml?',
  },
  { name: 'an answer taken', from: waiting, to: running, sentence: 'Working again.' },
  { name: 'the end', from: running, to: done, sentence: 'Done.' },
  { name: 'a stop', from: running, to: { ...done, phase: 'stopped' }, sentence: 'Stopped by you.' },
  {
    name: 'a limit',
    from: running,
    to: { ...done, phase: 'stopped', error: 'The time limit was reached.\nMore.' },
    sentence: 'Stopped. The time limit was reached.',
  },
  { name: 'a failure', from: running, to: { ...done, phase: 'failed', error: 'No key.' }, sentence: 'Failed. No key.' },
];
for (const { name, from, to, sentence } of SAID) {
  test(`${name} is said in one sentence`, () => {
    const { model, store } = open(from);
    model.become(to);
    assert.equal(store.announced, sentence);
  });
}

test('tokens are not said', () => {
  const { model, store } = open(running);
  model.tell({ kind: 'patch', seq: 1, ops: [['append', ['answer'], ' and so on']] });
  assert.equal(store.announced, '');
});

test('a question that is there from the start is said', () => {
  assert.equal(open(waiting).store.announced, 'Waiting for you: Write report.md?');
});
