import assert from 'node:assert/strict';
import { test } from 'node:test';
import { act } from 'preact/test-utils';
import { FakeModel } from '../dev/model';
import { done, questions, running, suspended, waiting } from '../dev/states';
import widget from '../src/index';
import type { RunState } from '../src/protocol';
import { closing, show } from './show';

test('approve sends one decision, also on a double click, and waits for the kernel', async () => {
  const { model, text, button, click } = await show(waiting);
  await click('Approve');
  await click('Approve', 0, 2);
  assert.deepEqual(model.of('decision'), [
    { kind: 'decision', id: 'call_3', verdict: 'approve', text: null, reason: null, scope: 'once' },
  ]);
  assert.ok(text().includes('approval sent…'));
  for (const name of ['Approve', 'Edit first…', 'Deny…']) assert.equal(button(name).disabled, true, name);
  assert.ok(text().includes('Waiting for you'));
  await act(() => model.become(done));
  assert.ok(text().includes('Done'));
});

test('the second click of a double click does not hit the question that moved there', async () => {
  const { model, click } = await show(questions);
  await click('Approve', 0, 1);
  await click('Approve', 1, 2);
  assert.equal(model.of('decision').length, 1);
});

test('questions are answered apart', async () => {
  const { model, click, type } = await show(questions);
  await click('Deny…', 1);
  await type('.dn-form input', 'not now');
  await click('Deny');
  await click('Approve', 0);
  assert.deepEqual(
    model.of('decision').map(message => message.kind === 'decision' && [message.id, message.verdict, message.reason]),
    [
      ['call_4', 'deny', 'not now'],
      ['call_3', 'approve', null],
    ],
  );
});

test('an edited text goes with the approval', async () => {
  const { model, click, type } = await show(waiting);
  await click('Edit first…');
  assert.equal(document.activeElement?.tagName, 'TEXTAREA');
  await type('textarea', '# Sales\n');
  await click('Approve edited');
  assert.deepEqual(model.of('decision').at(-1), {
    kind: 'decision',
    id: 'call_3',
    verdict: 'approve',
    text: '# Sales\n',
    reason: null,
    scope: 'once',
  });
});

test('a text that was looked at and left alone is a plain approval', async () => {
  const { model, click } = await show(waiting);
  await click('Edit first…');
  await click('Approve edited');
  assert.equal((model.of('decision')[0] as { text: string | null }).text, null);
});

test('an edited text keeps its line endings', async () => {
  const [question] = waiting.approvals;
  const crlf = { ...question, editable: { name: 'content', text: 'a\r\nb\r\n' } };
  const { model, click, type } = await show({ ...waiting, approvals: [crlf] } as RunState);
  await click('Edit first…');
  await type('textarea', 'a\nc\n');
  await click('Approve edited');
  assert.equal((model.of('decision')[0] as { text: string }).text, 'a\r\nc\r\n');
});

test('escape goes back and keeps what was typed, and the place of the keyboard', async () => {
  const { el, click, type, key } = await show(waiting);
  await click('Deny…');
  await type('.dn-form input', 'because');
  await key('.dn-form input', { key: 'Escape' });
  await new Promise(resolve => requestAnimationFrame(resolve));
  assert.equal(document.activeElement?.textContent, 'Deny…');
  await click('Deny…');
  assert.equal(el.querySelector<HTMLInputElement>('.dn-form input')?.value, 'because');
});

test('the keyboard alone denies with a reason', async () => {
  const { model, click, type, key } = await show(waiting);
  await click('Deny…');
  await type('.dn-form input', ' keep it ');
  await key('.dn-form input', { key: 'Enter' });
  assert.equal((model.of('decision')[0] as { reason: string }).reason, 'keep it');
});

test('the keyboard alone approves an edited text', async () => {
  const { model, click, type, key } = await show(waiting);
  await click('Edit first…');
  await type('textarea', 'x');
  await key('textarea', { key: 'Enter' });
  assert.equal(model.of('decision').length, 0);
  await key('textarea', { key: 'Enter', ctrlKey: true });
  assert.equal(model.of('decision').length, 1);
});

test('the rest of a run is approved for a tool or for a path, with two clicks', async () => {
  for (const [name, scope] of [
    ['for write_file', 'tool'],
    ['for report.md', 'path'],
  ] as const) {
    const { model, click } = await show(waiting);
    await click('Approve the rest of this run');
    assert.equal(model.of('decision').length, 0);
    await click(name);
    assert.equal((model.of('decision')[0] as { scope: string }).scope, scope);
  }
});

test('what is not answered here has no buttons', async () => {
  const [question] = waiting.approvals;
  const elsewhere = await show({ ...waiting, approvals: [{ ...question, state: 'superseded' }] } as RunState);
  assert.ok(elsewhere.text().includes('asked again elsewhere'));
  assert.equal(elsewhere.el.querySelectorAll('.dn-ask button').length, 0);
  const later = await show(suspended);
  assert.ok(later.text().includes('waiting for %deep approve or %deep deny'));
  assert.equal(later.el.querySelectorAll('.dn-ask button').length, 0);
});

test('when a question goes away the keyboard stays in the run', async () => {
  const { model, el, click } = await show(waiting);
  await click('Approve');
  assert.equal(document.activeElement, el.querySelector('.dn-ask'));
  await act(() => model.become(running));
  assert.equal(document.activeElement, el.querySelector('.dn-run'));
});

test('what is typed stays when a view is torn down and drawn again', async () => {
  const model = new FakeModel(waiting);
  const { initialize, render } = widget();
  closing.push(initialize({ model }));
  const el = document.body.appendChild(document.createElement('div'));
  let close = () => {};
  await act(() => {
    close = render({ model, el });
  });
  await act(() => [...el.querySelectorAll('button')].find(({ textContent }) => textContent === 'Edit first…')?.click());
  const field = el.querySelector('textarea') as HTMLTextAreaElement;
  field.value = 'half a';
  await act(() => void field.dispatchEvent(new window.Event('input', { bubbles: true })));
  await act(() => close());
  await act(() => void closing.push(render({ model, el })));
  assert.equal(el.querySelector('textarea')?.value, 'half a');
});

test('a question shows the tool, all its arguments and what would hide in them', async () => {
  const [question] = waiting.approvals;
  const tricky = { ...question, title: 'Write a\u202eb?', path: 'a\u202eb', args: 'path: a\rb' };
  const { el, text } = await show({ ...waiting, approvals: [tricky] } as RunState);
  assert.ok(text().includes('Write a[U+202E]b?'));
  assert.equal(el.querySelector('.dn-more summary')?.textContent, 'All arguments of write_file');
  assert.equal(el.querySelector('.dn-more .dn-output')?.textContent, 'path: a␍b');
});
