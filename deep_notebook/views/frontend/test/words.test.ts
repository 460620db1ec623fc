import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Approval, Question, RunState, Subagent, Todo, Usage } from '../src/protocol';
import * as words from '../src/words';
import { fixture } from './fixtures';

interface Case<T> {
  input: T;
  text: string;
}

interface Wording {
  elapsed: Case<number>[];
  seconds: Case<number | null>[];
  tokens: Case<number>[];
  cost: Case<Usage & { local: boolean }>[];
  phase: Case<Pick<RunState, 'phase' | 'error'>>[];
  plan: Case<[number, number]>[];
  work: Case<[number, number | null]>[];
  files: Case<number>[];
  approval: Case<Pick<Approval, 'state' | 'reason' | 'channel'>>[];
  asked: Case<Pick<Approval, 'title' | 'path' | 'args' | 'state' | 'reason' | 'channel'>>[];
  subagent: Case<[Pick<Subagent, 'id' | 'background' | 'prompt' | 'line'>, string]>[];
  own_plan: Case<Todo[]>[];
  question: Case<Pick<Question, 'state' | 'answer' | 'choices'>>[];
  meta: Case<string>[];
}

const wording = fixture<Wording>('wording.json');
const state = (name: string): RunState => fixture<RunState>(`run_states/${name}.json`);

const SPEAKERS: { [K in keyof Wording]: (input: Wording[K][number]['input']) => string } = {
  elapsed: words.elapsed,
  seconds: words.seconds,
  tokens: words.tokens,
  cost: input => words.cost(input, input.local),
  phase: words.phase,
  plan: ([done, all]) => words.plan(done, all),
  work: ([tools, total]) => words.work(tools, total),
  files: words.files,
  approval: words.approval,
  asked: words.asked,
  subagent: ([child, summary]) => words.subagent(child, { summary }),
  own_plan: words.ownPlan,
  question: words.question,
  meta: name => words.meta(state(name), state(name).elapsed).join(' · '),
};

test('every kind of wording in the shared table is spoken here', () => {
  assert.deepEqual(Object.keys(SPEAKERS).sort(), Object.keys(wording).sort());
});

for (const [kind, cases] of Object.entries(wording)) {
  test(`${kind} reads as in all other views`, () => {
    const speak = SPEAKERS[kind as keyof Wording] as (input: unknown) => string;
    for (const { input, text } of cases as Case<unknown>[]) assert.equal(speak(input), text, JSON.stringify(input));
  });
}
