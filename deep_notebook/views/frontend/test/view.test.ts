import assert from 'node:assert/strict';
import { test } from 'node:test';
import axe from 'axe-core';
import { act } from 'preact/test-utils';
import { FakeModel } from '../dev/model';
import { all, delegated, done, failed, long, questions, running, starting, stopped, waiting } from '../dev/states';
import widget from '../src/index';
import type { RunState } from '../src/protocol';
import { closing, show } from './show';

const labels = (el: HTMLElement): (string | null)[] =>
  [...el.querySelectorAll('.dn-section')].map(section => section.getAttribute('aria-label'));

test('a waiting run shows plan, work and the question, in this order', async () => {
  const { el, text } = await show(waiting);
  assert.deepEqual(labels(el), ['plan', 'work', 'A question for you']);
  for (const words of [
    'Waiting for you',
    'no cost',
    'Plan · 1 of 3',
    'Work · 3 tools, 0.4 s',
    'asked by main',
    '--- (new)',
  ]) {
    assert.ok(text().includes(words), words);
  }
  assert.equal(el.querySelector('.dn-title code')?.textContent, 'report.md');
  assert.equal(el.querySelectorAll('ins').length, 5);
});

/** The text of the rows below a step, as it is read. */
const below = (el: HTMLElement, step: number): (string | undefined)[] =>
  [...(el.querySelectorAll('.dn-log > .dn-tool')[step]?.querySelectorAll('.dn-below > li') ?? [])].map(row =>
    [...row.querySelectorAll('b, .dn-what, .dn-unseen, .dn-under')].map(part => part.textContent?.trim()).join(' '),
  );

test('what subagents do stands below the step that gave them their task, also after it has returned', async () => {
  const { el } = await show(delegated);
  assert.equal(el.querySelectorAll('.dn-log > .dn-tool').length, 4);
  assert.match(below(el, 0)[0] ?? '', /^research t1 in the background · read_file · sales.csv · 240 lines \(running\)/);
  assert.match(below(el, 0)[0] ?? '', /Plan · 1 of 3 · Add the amounts up/);
  assert.deepEqual(below(el, 1).slice(1), [
    'general asked Write gaps.md? · approved by you (approved)',
    'general asked Run a command? command: git commit -am gaps · denied by you: "I commit myself" (denied)',
  ]);
  assert.match(below(el, 1)[0] ?? '', /^general The south has no entry for October. \(done\) 1 file changed\+3/);
  assert.deepEqual(below(el, 2), ['plotter ModelHTTPError: status_code: 503 (failed)']);
});

test('a question of a subagent has its buttons with the others, under its own name', async () => {
  const { model, el, click } = await show(delegated);
  assert.deepEqual(below(el, 3)[1], 'general asks Edit report.md? · waiting for you (pending)');
  assert.match(el.querySelector('.dn-ask')?.textContent ?? '', /asked by general/);
  await click('Approve');
  assert.deepEqual(
    model.of('decision').map(message => 'id' in message && message.id),
    ['t4:call_2'],
  );
});

test('a patch moves one subagent on', async () => {
  const { model, el } = await show(delegated);
  await act(() =>
    model.tell({
      kind: 'patch',
      seq: 1,
      ops: [
        ['set', ['steps', 0, 'subagents', 0, 'status'], 'done'],
        ['set', ['steps', 0, 'subagents', 0, 'line'], 'All right.'],
        ['set', ['steps', 0, 'subagents', 0, 'seconds'], 75],
      ],
    }),
  );
  assert.match(below(el, 0)[0] ?? '', /^research t1 in the background · All right. \(done\)/);
  assert.equal(el.querySelector('.dn-below .dn-time')?.textContent, '1 min 15 s');
});

test('a finished run shows the answer first and folds the work away', async () => {
  const { el, text, button, click } = await show(done);
  assert.deepEqual(labels(el), ['Answer', 'plan, work and changes']);
  assert.ok(!text().includes('read_file'));
  assert.equal(button('Work · 4 tools, 0.9 s').getAttribute('aria-expanded'), 'false');
  await click('Work · 4 tools, 0.9 s');
  assert.ok(text().includes('read_file'));
  await click('View diff');
  assert.equal(el.querySelectorAll('.dn-diff').length, 1);
});

test('a run that ends folds by itself, but not what the person has opened or closed', async () => {
  const { model, text, click } = await show(running);
  await click('Plan · 1 of 3');
  await act(() => model.become(done));
  assert.ok(!text().includes('read_file'));
  await act(() => model.become({ ...running }));
  assert.ok(text().includes('read_file'));
  assert.ok(!text().includes('Check the file'));
});

test('a stopped run keeps its work in sight and says what to do next', async () => {
  const { text } = await show(stopped);
  for (const words of ['Stopped by you', '$0.07 of $0.50', 'config.yaml · denied: "keep the port"', 'is intact']) {
    assert.ok(text().includes(words), words);
  }
});

test('a failed replay says both', async () => {
  const { text, el } = await show(failed);
  assert.ok(text().includes('Replayed · recorded with a scripted model'));
  assert.equal(el.querySelector('.dn-error code')?.textContent, '.env');
});

test('stop is sent once and says so', async () => {
  const { model, button, click } = await show(running);
  await click('Stop');
  assert.equal(button('Stopping…').disabled, true);
  assert.equal(model.of('stop').length, 1);
});

test('without a kernel nothing looks alive', async () => {
  const { model, el, text, button } = await show(waiting, { alive: false });
  model.broken = true;
  await act(() => model.trigger('comm_live_update'));
  assert.ok(text().includes('Not connected to the kernel'));
  assert.ok(text().includes('%deep show 3'));
  assert.equal(button('Approve').disabled, true);
  assert.equal(
    [...el.querySelectorAll('button')].some(({ textContent }) => textContent === 'Stop'),
    false,
  );
});

test('views of one run share everything, and no id', async () => {
  const { model, el, click, type } = await show(questions, { views: 2 });
  await click('Edit first…');
  await type('textarea', 'shared');
  const other = el.nextElementSibling as HTMLElement;
  assert.equal(other.querySelector('textarea')?.value, 'shared');
  await click('Approve edited');
  assert.ok(other.textContent?.includes('approval sent…'));
  assert.equal(model.of('decision').length, 1);
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
});

test('keys in a field reach nobody else, and every control keeps the shortcuts of JupyterLab away', async () => {
  const { el, click, key } = await show(waiting);
  let heard = 0;
  document.body.addEventListener('keydown', () => (heard += 1), { once: true });
  await click('Edit first…');
  await key('textarea', { key: 'd' });
  assert.equal(heard, 0);
  for (const control of el.querySelectorAll('button, summary, textarea, input')) {
    assert.ok(control.hasAttribute('data-lm-suppress-shortcuts'), control.outerHTML);
  }
});

test('the answer streams as Markdown', async () => {
  const { model, el } = await show(running);
  const table = el.querySelector('.dn-answer table');
  await act(() => model.tell({ kind: 'patch', seq: 1, ops: [['append', ['answer'], 'port, `a`']] }));
  assert.equal(el.querySelector('.dn-answer table'), table, 'what stands is not drawn again');
  assert.ok(el.querySelector('.dn-answer')?.textContent?.includes('I am writing the report, a'));
});

test('math is typeset by the page once it stands, and a formula that does more is not', async () => {
  const typeset: string[] = [];
  const model = Object.assign(
    new FakeModel({ ...running, answer: 'a \\(x\\) b \\(\\href{javascript:alert(1)}{y}\\)\n\nnow \\(z\\)' }),
    {
      widget_manager: {
        rendermime: { latexTypesetter: { typeset: (e: HTMLElement) => typeset.push(e.textContent ?? '') } },
      },
    },
  );
  const { initialize, render } = widget();
  closing.push(initialize({ model }));
  const el = document.body.appendChild(document.createElement('div'));
  await act(() => void closing.push(render({ model, el })));
  assert.deepEqual(typeset, ['\\(x\\)']);
  await act(() => model.become({ ...model.state, phase: 'done' }));
  assert.ok(typeset.includes('\\(z\\)'));
  assert.ok(!typeset.join().includes('href'));
});

test('a tool opens to what it was given and what it gave back', async () => {
  const { el } = await show(running);
  const details = [...el.querySelectorAll<HTMLDetailsElement>('.dn-tool details')][1] as HTMLDetailsElement;
  await act(async () => {
    details.open = true;
    details.dispatchEvent(new window.Event('toggle'));
  });
  assert.ok(details.textContent?.includes('1 failed <b>not bold</b>'));
  assert.equal(details.querySelector('.ansi-green-fg')?.textContent, 'passed');
  assert.equal(el.querySelectorAll('.dn-tool img[src^="data:image/"]').length, 1);
});

test('only pictures are drawn as pictures', async () => {
  const [step] = waiting.steps;
  const images = [{ media_type: 'text/html', data: 'AAAA' }];
  const { el } = await show({ ...waiting, steps: [{ ...step, images }] } as RunState);
  assert.equal(el.querySelectorAll('img').length, 0);
});

test('a long log shows its end, and the rest on demand', async () => {
  const { el, click } = await show(long);
  assert.equal(el.querySelectorAll('.dn-tool').length, 60);
  assert.ok(el.querySelector('.dn-log')?.textContent?.includes('part-149.csv'));
  await click('Show 90 earlier steps');
  assert.equal(el.querySelectorAll('.dn-tool').length, 150);
});

test('a long diff shows its beginning, and the rest on demand', async () => {
  const [question] = waiting.approvals;
  const diff = `--- /dev/null\n+++ a\n@@ -0,0 +1,900 @@\n${'+x\n'.repeat(900)}`;
  const { el, click } = await show({ ...waiting, approvals: [{ ...question, diff }] } as RunState);
  assert.ok(el.querySelectorAll('ins').length < 500);
  await click('Show all 901 lines');
  assert.equal(el.querySelectorAll('ins').length, 900);
});

test('one polite region says what happens', async () => {
  const { model, el } = await show(starting);
  assert.equal(el.querySelectorAll('[aria-live]').length, 1);
  await act(() => model.become(waiting));
  assert.equal(el.querySelector('[aria-live=polite]')?.textContent, 'Waiting for you: Write report.md?');
  await act(() => model.become(done));
  assert.equal(el.querySelector('[aria-live=polite]')?.textContent, 'Done.');
});

test('what the tools say is text', async () => {
  const evil = '<img src=x onerror=alert(1)>';
  const [step] = waiting.steps;
  const [question] = waiting.approvals;
  const { el } = await show({
    ...waiting,
    prompt: evil,
    banner: evil,
    notice: evil,
    error: evil,
    model: { ...waiting.model, label: evil },
    todos: [{ id: '1', content: evil, status: 'pending' }],
    steps: [
      {
        ...step,
        name: evil,
        summary: evil,
        args: evil,
        result: evil,
        note: evil,
        subagents: [
          {
            id: evil,
            name: evil,
            prompt: evil,
            background: true,
            status: 'running',
            line: evil,
            todos: [{ id: '1', content: evil, status: 'in_progress' }],
            seconds: null,
            files: [{ path: evil, added: 1, removed: 0, diff: evil }],
          },
        ],
      },
    ],
    approvals: [{ ...question, title: evil, path: evil, detail: evil, diff: evil, args: evil, asked_by: evil }],
    files: [{ path: evil, added: 1, removed: 1, diff: evil }],
    thinking: evil,
  } as RunState);
  assert.equal(el.querySelectorAll('img').length, 0);
});

/** `region` is for whole pages; contrast needs a browser, where `tests/browser` measures it. */
const OFF = { region: { enabled: false }, 'color-contrast': { enabled: false } };

for (const [name, state] of Object.entries(all)) {
  for (const mode of ['', 'Edit first…', 'Deny…', 'Approve the rest of this run']) {
    if (mode && !state.approvals.some(approval => approval.state === 'pending')) continue;
    test(`axe finds nothing in ${name} ${mode}`, async () => {
      const { el, click } = await show(state);
      if (mode) await click(mode);
      for (const details of el.querySelectorAll('details')) {
        await act(async () => {
          details.open = true;
          details.dispatchEvent(new window.Event('toggle'));
        });
      }
      const { violations } = await axe.run(el, { rules: OFF });
      assert.deepEqual(
        violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]),
        [],
      );
    });
  }
}
