/** A kernel's end of a panel that is not there, and panels to look at and to test with. */
import type { ChangeSet, Pages, Panel, PanelModel, Search, Timeline, ToKernel } from '../src/panels/protocol';

export class FakePanelModel implements PanelModel {
  readonly sent: ToKernel[] = [];
  readonly place = 'deep-panel-1';
  seq = 0;
  alive = true;
  broken = false;
  unsaved = false;
  readonly #callbacks = new Map<string, Set<(...args: unknown[]) => void>>();

  constructor(public state: Panel) {}

  get(): unknown {
    return undefined;
  }

  send(message: ToKernel): void {
    if (this.broken) throw new Error('the comm is closed');
    this.sent.push(message);
    if (this.alive && message.kind !== 'action') this.tell();
  }

  on(name: string, callback: (...args: unknown[]) => void): void {
    const callbacks = this.#callbacks.get(name) ?? new Set();
    this.#callbacks.set(name, callbacks.add(callback));
  }

  off(name: string, callback: (...args: unknown[]) => void): void {
    this.#callbacks.get(name)?.delete(callback);
  }

  trigger(name: string, ...args: unknown[]): void {
    for (const callback of this.#callbacks.get(name) ?? []) callback(...args);
  }

  tell(): void {
    const { seq, state, place, unsaved } = this;
    this.trigger('msg:custom', { kind: 'panel', seq, state, place, unsaved });
  }

  become(state: Panel): void {
    this.state = state;
    this.seq += 1;
    this.tell();
  }

  get actions(): object[] {
    return this.sent.filter(message => message.kind === 'action');
  }
}

const DIFF = '--- a/config.yaml\n+++ b/config.yaml\n@@ -1,2 +1,2 @@\n host: localhost\n-port: 8080\n+port: 9090\n';
const changed = { path: 'config.yaml', added: 1, removed: 1, diff: DIFF };
const point = { turn: 1, messages: 4, at: 1764594000, automatic: true, run: 1, tool: null, files: [], here: false };

export const timeline: Timeline = {
  kind: 'timeline',
  points: [
    { ...point, id: 'p1', label: 'start of run 1' },
    { ...point, id: 'p2', label: 'before the report', automatic: false, tool: 'edit_file', files: [changed] },
    { ...point, id: 'p3', label: 'start of run 2', run: 2, here: true },
  ],
  ask: null,
  undo: null,
  notice: null,
};

export const asked: Timeline = {
  ...timeline,
  ask: {
    id: 'p2',
    label: 'before the report',
    files: [
      { path: 'report.md', action: 'delete', yours: false, possible: true, diff: '', added: 0, removed: 3 },
      { path: 'config.yaml', action: 'edit', yours: true, possible: true, diff: DIFF, added: 1, removed: 1 },
      { path: 'model.bin', action: 'edit', yours: false, possible: false, diff: '', added: 0, removed: 0 },
    ],
    gaps: ['`data/` was not looked at.'],
    variables: ['df'],
    messages: 8,
  },
};

export const changes: ChangeSet = {
  kind: 'changes',
  run: 3,
  files: [
    {
      path: 'config.yaml',
      action: 'edit',
      state: 'open',
      note: null,
      added: 2,
      removed: 2,
      hunks: [
        { id: 'h1', header: '@@ -1,2 +1,2 @@', text: ' host: localhost\n-port: 8080\n+port: 9090\n', state: 'open' },
        { id: 'h2', header: '@@ -9,1 +9,1 @@', text: '-a\n+b\n', state: 'kept' },
      ],
    },
    { path: 'logo.png', action: 'create', state: 'kept', note: 'not text', added: 0, removed: 0, hunks: [] },
  ],
  gaps: ['`make clean` may have changed more.'],
  notice: null,
};

export const search: Search = {
  kind: 'search',
  query: 'port',
  hits: [
    {
      run: 2,
      speaker: 'agent',
      snippet: '🎉 the port is <b>9090</b>',
      matches: [[6, 10]],
      before: ['earlier'],
      after: [],
      at: null,
    },
    {
      run: null,
      speaker: 'you',
      snippet: 'port and port',
      matches: [
        [0, 4],
        [9, 13],
      ],
      before: [],
      after: ['later'],
      at: 1764594000,
    },
  ],
  more: true,
  shown: null,
  notice: null,
};

export const pages: Pages = {
  kind: 'pages',
  title: 'Result of execute',
  path: '.deep/large_tool_results/7f3a',
  page: 2,
  pages: 3,
  first_line: 3,
  lines: 6,
  text: 'three\n\u001b[31mfour\u001b[0m',
  notice: null,
};
