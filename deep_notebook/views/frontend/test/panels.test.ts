import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { afterEach, mock, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import axe from 'axe-core';
import { act } from 'preact/test-utils';
import { asked, changes, FakePanelModel, pages, search, timeline } from '../dev/panels';
import panels from '../src/panels';
import type { Panel, ReviewFile } from '../src/panels/protocol';
import { TIMES } from '../src/panels/store';

const closing: (() => void)[] = [];
afterEach(async () => {
  await act(() => {
    for (const close of closing.splice(0)) close();
  });
  document.body.replaceChildren();
  mock.timers.reset();
});

/** The output of a cell, as the kernel leaves it. */
function output(): HTMLElement {
  const cell = document.body.appendChild(document.createElement('div'));
  cell.innerHTML = '<div class="deep-panel-1"><div class="deep-run">static</div></div>';
  return cell;
}

async function show(state: Panel, { alive = true } = {}) {
  const cell = output();
  const model = new FakePanelModel(state);
  model.alive = alive;
  await act(() => void closing.push(panels.initialize({ model })));
  const find = <T extends HTMLElement = HTMLElement>(selector: string, index = 0): T => {
    const found = cell.querySelectorAll<T>(selector)[index];
    assert.ok(found, `${selector} is not there: ${cell.innerHTML.slice(0, 2000)}`);
    return found;
  };
  const named = (name: string) => (button: HTMLElement) =>
    (button.getAttribute('aria-label') ?? button.textContent?.trim()) === name;
  const button = (name: string): HTMLButtonElement => {
    const found = [...cell.querySelectorAll('button')].find(named(name));
    assert.ok(
      found,
      `no button ${name} in: ${[...cell.querySelectorAll('button')].map(b => b.textContent).join(', ')}`,
    );
    return found;
  };
  return {
    cell,
    model,
    find,
    button,
    has: (name: string) => [...cell.querySelectorAll('button')].some(named(name)),
    text: () => cell.querySelector('.dn-panel')?.textContent ?? '',
    isStatic: () => find('.deep-run').style.display === '' && !cell.querySelector('.dn-panel'),
    async click(name: string) {
      await act(() => void button(name).dispatchEvent(new window.MouseEvent('click', { bubbles: true, detail: 1 })));
    },
    async become(next: Panel) {
      await act(() => model.become(next));
    },
  };
}

const GONE: ReviewFile = {
  path: 'old.csv',
  action: 'delete',
  state: 'open',
  note: null,
  added: 0,
  removed: 1,
  hunks: [],
};

const kinds: Record<string, Panel> = { timeline, asked, changes, search, pages };

for (const [name, state] of Object.entries(kinds)) {
  test(`${name}: nothing is wrong with it for people who do not see it`, async () => {
    await show(state);
    const { violations } = await axe.run(document.body, { rules: { region: { enabled: false } } });
    assert.deepEqual(
      violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]),
      [],
    );
  });
}

test('what names a part of one panel names nothing in another', async () => {
  const file = pathToFileURL(resolve('../static/panels.js')).href;
  for (const [copy, state] of Object.entries({ first: search, second: asked })) {
    output();
    const model = new FakePanelModel(state);
    const loaded = (await import(`${file}?${copy}`)) as { default: typeof panels };
    await act(async () => {
      closing.push(loaded.default.initialize({ model }));
      await new Promise(done => setTimeout(done));
    });
  }
  const ids = [...document.querySelectorAll('.dn-panel [id]')].map(({ id }) => id);
  assert.ok(ids.length > 1, document.body.innerHTML.slice(0, 2000));
  assert.equal(new Set(ids).size, ids.length);
});

test('static HTML is there until the kernel has answered, and again when it is gone', async () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const { model, cell, isStatic } = await show(pages, { alive: false });
  assert.ok(isStatic());
  await act(() => model.tell());
  assert.equal(cell.querySelectorAll('.dn-panel').length, 1);
  assert.equal((cell.querySelector('.deep-run') as HTMLElement).style.display, 'none');
  await act(() => model.trigger('comm_live_update'));
  await act(() => mock.timers.tick(TIMES.probe));
  assert.ok(isStatic());
});

test('a comm that is closed leaves the static HTML', async () => {
  const { model, isStatic, click } = await show(pages);
  model.broken = true;
  await click('Next page');
  assert.ok(isStatic());
});

test('an output that is made anew gets the same panel, with the focus and what was typed', async () => {
  const { cell, find } = await show(search);
  const field = find<HTMLInputElement>('input');
  field.value = 'half a wo';
  field.focus();
  await act(async () => {
    const again = output();
    cell.replaceChildren(...again.children);
    again.remove();
    await new Promise(resolve => setTimeout(resolve));
  });
  assert.equal(find<HTMLInputElement>('input'), field);
  assert.equal(document.activeElement, field);
  assert.equal(find('.deep-run').style.display, 'none');
});

test('two outputs of one panel show the same', async () => {
  const second = output();
  const { model, cell } = await show(pages);
  await act(() => model.become({ ...pages, page: 3 }));
  for (const place of [cell, second]) assert.match(place.textContent ?? '', /Page 3 of 3/);
});

test('what is clicked twice, or before the kernel has answered, is sent once', async () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const { model, click, text, become } = await show(pages);
  await click('Next page');
  await click('Previous page');
  assert.deepEqual(model.actions, [{ kind: 'action', seq: 0, do: 'page', page: 3 }]);
  assert.doesNotMatch(text(), /kernel is busy/);
  await act(() => mock.timers.tick(TIMES.answer));
  assert.match(text(), /kernel is busy/);
  await become({ ...pages, page: 3 });
  assert.doesNotMatch(text(), /kernel is busy/);
  await click('Previous page');
  assert.deepEqual(model.actions[1], { kind: 'action', seq: 1, do: 'page', page: 2 });
});

test('the newest checkpoint is first, and each says what changed', async () => {
  const { cell, click, find, model } = await show(timeline);
  const labels = [...cell.querySelectorAll('.dn-label')].map(({ textContent }) => textContent);
  assert.deepEqual(labels, ['start of run 2', 'before the report', 'start of run 1']);
  assert.match(find('.dn-here').textContent ?? '', /start of run 2/);
  assert.equal(find('.dn-names').textContent?.trim(), 'config.yaml +1 −1');
  await click('1 file changed +1 −1');
  assert.equal(find('ins').textContent, '+port: 9090');
  await click('Go back to start of run 1');
  assert.deepEqual(model.actions, [{ kind: 'action', seq: 0, do: 'ask', id: 'p1' }]);
});

const squeezed = (text: string): string => text.replaceAll(/\s+/g, '');

test('a rewind says what it does, and takes back what the person chose', async () => {
  const { find, click, model, become } = await show(timeline);
  await become(asked);
  const card = find('.dn-asks');
  assert.equal(document.activeElement, card);
  for (const words of [
    'Go back to “before the report”?',
    '8 messages are taken back.',
    'report.md −3 is removed',
    'config.yaml +1 −1 goes back to how it was · changed since by you or another program',
    'model.bin stays as it is',
    'data/ was not looked at.',
    'Variables are not taken back: df',
  ]) {
    assert.ok(squeezed(card.textContent ?? '').includes(squeezed(words)), words);
  }
  const check = (index: number) => act(() => find(`input[type=checkbox]`, index).click());
  await check(2);
  await check(3);
  await click('Go back');
  assert.deepEqual(model.actions, [
    { kind: 'action', seq: 1, do: 'rewind', id: 'p2', parts: ['conversation', 'files'], mine: true },
  ]);
});

test('files that the person changed stay theirs unless they say so, and nothing goes back without a part', async () => {
  const { find, click, model } = await show(asked);
  for (const index of [0, 2]) await act(() => find('input[type=checkbox]', index).click());
  await act(() => find('input[type=checkbox]', 1).click());
  await click('Go back');
  assert.deepEqual(model.actions, []);
  await act(() => find('input[type=checkbox]', 1).click());
  await click('Go back');
  assert.deepEqual(model.actions, [{ kind: 'action', seq: 0, do: 'rewind', id: 'p2', parts: ['files'], mine: false }]);
});

test('Escape takes the question back, and a rewind can be undone', async () => {
  const { find, click, become, model } = await show(timeline);
  await become(asked);
  await act(
    () => void find('.dn-asks').dispatchEvent(new window.KeyboardEvent('keydown', { key: 'Escape', bubbles: true })),
  );
  await become({ ...timeline, undo: "Went back to 'before the report'." });
  assert.ok(find('.dn-panel').contains(document.activeElement), 'the keyboard lost its place');
  await click('Undo');
  assert.deepEqual(model.actions, [
    { kind: 'action', seq: 1, do: 'cancel' },
    { kind: 'action', seq: 2, do: 'undo' },
  ]);
});

test('changes are kept or undone as a whole, by file, or by place', async () => {
  const { click, has, become, model } = await show(changes);
  assert.ok(!has('Keep logo.png'), 'what is kept is not kept again');
  for (const name of ['Undo change 1 of config.yaml', 'Keep config.yaml', 'Undo logo.png', 'Keep all', 'Undo all']) {
    await click(name);
    await become(changes);
  }
  const sent = model.actions.map(action => ({ ...action, kind: undefined, seq: undefined }));
  const of = (verb: string, path: string | null, hunk: string | null) => ({
    kind: undefined,
    seq: undefined,
    do: verb,
    path,
    hunk,
  });
  assert.deepEqual(sent, [
    of('undo', 'config.yaml', 'h1'),
    of('keep', 'config.yaml', null),
    of('undo', 'logo.png', null),
    of('keep', null, null),
    of('undo', null, null),
  ]);
});

test('what was undone can be put back, by place and by file', async () => {
  const [file, logo] = changes.files as [ReviewFile, ReviewFile];
  const hunks = file.hunks.map((hunk, index) => ({ ...hunk, state: index ? ('kept' as const) : ('undone' as const) }));
  const { click, has, become, model } = await show({ ...changes, files: [{ ...file, state: 'mixed', hunks }, logo] });
  assert.ok(!has('Keep all'));
  await click('Put back: change 1 of config.yaml');
  await become(model.state);
  await click('Put back: config.yaml');
  assert.deepEqual(model.actions, [
    { kind: 'action', seq: 0, do: 'keep', path: 'config.yaml', hunk: 'h1' },
    { kind: 'action', seq: 1, do: 'keep', path: 'config.yaml', hunk: null },
  ]);
});

test('what a click would delete is called so', async () => {
  const { button } = await show({ ...changes, files: [{ ...GONE, state: 'undone' }] });
  assert.equal(button('Delete again: old.csv').textContent, 'Delete again');
});

test('the keyboard stays where it was when the button that it pressed goes away', async () => {
  const { become, button, find } = await show({ ...changes, files: [{ ...GONE, state: 'open' }] });
  button('Undo old.csv').focus();
  await become({ ...changes, files: [{ ...GONE, state: 'undone' }] });
  assert.equal(document.activeElement, find('.dn-file .dn-answers'));
});

test('nobody is told to ask the agent again to keep a review', async () => {
  const { model, text } = await show(changes);
  model.unsaved = true;
  await act(() => model.become(changes));
  assert.match(text(), /keeps an earlier state of this\. %deep review 3 shows the present one\./);
});

test('a search marks what it found, whatever stands before it, and shows markup as text', async () => {
  const { cell, find, text } = await show(search);
  assert.deepEqual(
    [...cell.querySelectorAll('mark')].map(({ textContent }) => textContent),
    ['port', 'port', 'port'],
  );
  assert.equal(find('.dn-snippet', 0).textContent, 'earlier🎉 the port is <b>9090</b>');
  assert.match(text(), /The best 2 places/);
});

test('Enter searches', async () => {
  const { find, model } = await show(search);
  const field = find<HTMLInputElement>('input');
  field.value = 'host';
  await act(() => void field.dispatchEvent(new window.Event('input', { bubbles: true })));
  await act(() => find<HTMLFormElement>('form').requestSubmit());
  assert.deepEqual(model.actions, [{ kind: 'action', seq: 0, do: 'search', query: 'host' }]);
});

test('a run that the page shows is scrolled to, another one is asked for and shown without scripts', async () => {
  const { click, become, find, model, text } = await show(search);
  const run = document.body.appendChild(document.createElement('div'));
  run.className = 'deep-run deep-run-2';
  run.getClientRects = () => [{}] as unknown as DOMRectList;
  await click('Go to run 2');
  assert.equal(document.activeElement, run);
  assert.deepEqual(model.actions, []);
  run.remove();
  await click('Go to run 2');
  assert.deepEqual(model.actions, [{ kind: 'action', seq: 0, do: 'show', run: 2 }]);
  await become({ ...search, shown: '<div class="deep-run"><script>alert(1)</script><b onclick="x()">Done</b></div>' });
  assert.equal(find('.dn-shown .deep-run').innerHTML, '<b>Done</b>');
  assert.match(text(), /Run 2, which is not in this notebook/);
});

test('pages end where the text ends, and hold no colours of a terminal', async () => {
  const { button, find, become, text } = await show(pages);
  assert.equal(find('.dn-page').textContent, 'three\nfour');
  assert.match(text(), /Page 2 of 3 · lines 3–4 of 6/);
  await become({ ...pages, page: 3 });
  assert.equal(button('Next page').getAttribute('aria-disabled'), 'true');
  assert.equal(button('First page').getAttribute('aria-disabled'), null);
});

test('a notice is said aloud', async () => {
  const { become, find } = await show(pages);
  await become({ ...pages, notice: 'There are 3 pages.' });
  assert.equal(find('[role=status]').textContent, 'There are 3 pages.');
});
