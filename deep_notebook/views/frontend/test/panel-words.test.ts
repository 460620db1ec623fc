import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Hit, Pages, PlannedFile, ReviewFile, TimelinePoint } from '../src/panels/protocol';
import * as words from '../src/panels/words';
import { fixture } from './fixtures';

interface Case<T> {
  input: T;
  text: string;
}

interface Wording {
  timeline: Case<number>[];
  point: Case<TimelinePoint>[];
  going_back: Case<number>[];
  planned: Case<PlannedFile>[];
  variables: Case<string[]>[];
  reviewed: Case<{ run: number | null; files: ReviewFile['state'][] }>[];
  review: Case<ReviewFile>[];
  searched: Case<{ query: string; hits: number; more: boolean }>[];
  hit: Case<Hit>[];
  page: Case<Pages>[];
}

const wording = fixture<Wording>('panel_wording.json');

function check<T>(name: string, cases: Case<T>[], say: (input: T) => string): void {
  test(name, () => {
    for (const { input, text } of cases) assert.equal(say(input), text);
  });
}

check('timelines', wording.timeline, words.timeline);
check('points', wording.point, words.point);
check('going back', wording.going_back, messages => words.goingBack({ messages }));
check('planned files', wording.planned, words.planned);
check('variables', wording.variables, variables => words.variables({ variables }));
check('change sets', wording.reviewed, ({ run, files }) =>
  words.reviewed({
    run,
    files: files.map(state => ({ path: 'x', action: 'edit', state, hunks: [], note: null, added: 0, removed: 0 })),
  }),
);
check('reviewed files', wording.review, words.review);
check('searches', wording.searched, ({ query, hits, more }) =>
  words.searched({ query, more, hits: Array.from({ length: hits }) as Hit[] }),
);
check('hits', wording.hit, words.hit);
check('pages', wording.page, words.page);

test('a moment of today is an hour, one of another day has its date', () => {
  const at = new Date(2025, 11, 1, 9, 5).getTime() / 1000;
  assert.equal(words.when(at, new Date(2025, 11, 1, 23, 0)), '09:05');
  assert.equal(words.when(at, new Date(2025, 11, 2, 0, 0)), '2025-12-01 09:05');
});
