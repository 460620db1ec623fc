import assert from 'node:assert/strict';
import { test } from 'node:test';
import { act } from 'preact/test-utils';
import { asking, done } from '../dev/states';
import type { Question, RunState } from '../src/protocol';
import { show } from './show';

const LABEL = '9090 recommended Nothing else listens there.';
const open = asking.questions[2] as Question;
const ended = (change: Partial<Question>): RunState => ({
  ...asking,
  phase: 'running',
  questions: [...asking.questions.slice(0, 2), { ...open, ...change }],
});

test('a question shows who asks, its choices and which of them is recommended', async () => {
  const { el, text } = await show(asking);
  const card = el.querySelector('.dn-ask');
  assert.equal(card?.querySelector('.dn-title')?.textContent, open.text);
  assert.match(card?.textContent ?? '', /asked by planner/);
  assert.deepEqual(
    [...(card?.querySelectorAll('.dn-choice') ?? [])].map(({ textContent }) => textContent?.trim()),
    [LABEL, `8081  ${open.choices[1]?.description}`, 'Let the system pick one'],
  );
  assert.ok(text().includes('Waiting for you'));
});

test('a choice is sent once, also on a double click, by its number', async () => {
  const { model, text, button, click } = await show(asking);
  await click('Let the system pick one');
  await click('Let the system pick one', 0, 2);
  await click(LABEL);
  assert.deepEqual(model.of('answer'), [{ kind: 'answer', id: 'q3', option: 2, text: null }]);
  assert.equal(button(LABEL).disabled, true);
  assert.ok(text().includes('answer sent…'));
});

test('the second click of a double click answers nothing', async () => {
  const { model, click } = await show(asking);
  await click(LABEL, 0, 2);
  assert.equal(model.of('answer').length, 0);
});

test('words of one\u2019s own are an answer too, by mouse or by keyboard, unless they say nothing', async () => {
  for (const send of ['click', 'key'] as const) {
    const { model, button, click, type, key } = await show(asking);
    assert.equal(button('Answer').disabled, true);
    await type('.dn-form input', '   ');
    await key('.dn-form input', { key: 'Enter' });
    assert.equal(button('Answer').disabled, true);
    await type('.dn-form input', ' 80, as before ');
    if (send === 'click') await click('Answer');
    else await key('.dn-form input', { key: 'Enter' });
    assert.deepEqual(model.of('answer'), [{ kind: 'answer', id: 'q3', option: null, text: '80, as before' }]);
  }
});

test('what was answered has no buttons, and can be looked up', async () => {
  const { model, el } = await show(asking);
  await act(() => model.become(ended({ state: 'answered', answer: '8081' })));
  assert.equal(el.querySelectorAll('.dn-ask').length, 0);
  const rows = [...el.querySelectorAll('.dn-below > li')].map(row => row.textContent ?? '');
  assert.match(rows[2] ?? '', /planner asked.*you chose: 8081/s);
  const details = el.querySelectorAll<HTMLDetailsElement>('.dn-below details')[1] as HTMLDetailsElement;
  await act(async () => {
    details.open = true;
    details.dispatchEvent(new window.Event('toggle'));
  });
  assert.match(details.querySelector('.dn-completed')?.textContent ?? '', /8081.*\(chosen\)/s);
});

test('a question that is asked elsewhere has no buttons', async () => {
  const { el, text } = await show({ ...ended({ state: 'superseded' }), phase: 'waiting' });
  assert.equal(el.querySelectorAll('.dn-ask button').length, 0);
  assert.ok(text().includes('asked again elsewhere'));
});

test('what is being typed survives other news, and is gone with its question', async () => {
  const { model, el, type } = await show(asking);
  await type('.dn-form input', 'half an ans');
  await act(() => model.become({ ...asking, elapsed: 30 }));
  assert.equal(el.querySelector<HTMLInputElement>('.dn-form input')?.value, 'half an ans');
  await act(() => model.become(done));
  await act(() => model.become(asking));
  assert.equal(el.querySelector<HTMLInputElement>('.dn-form input')?.value, '');
});

test('a question is said aloud', async () => {
  const { model, el } = await show(ended({ state: 'answered', answer: '9090' }));
  await act(() => model.become(asking));
  assert.equal(el.querySelector('[aria-live=polite]')?.textContent, `Waiting for you: ${open.text}`);
});

test('what a question says is text, with nothing hidden in it', async () => {
  const evil = '<img src=x onerror=alert(1)>\u202e';
  const choices = [{ label: evil, description: evil, recommended: false }];
  const { el } = await show({
    ...asking,
    questions: [
      { ...open, text: evil, asked_by: evil, choices },
      { ...open, id: 'q9', step: 'call_1', text: evil, choices, state: 'answered', answer: evil },
    ],
  });
  assert.equal(el.querySelectorAll('img').length, 0);
  assert.ok(el.querySelector('.dn-choice')?.textContent?.includes('[U+202E]'));
});
