import type { Action, FromKernel, Panel, PanelModel, Snapshot, ToKernel } from './protocol';
import * as words from './words';

/** Milliseconds. */
export const TIMES = { answer: 2_500, probe: 5_000 };

/** The state of one panel and the line to its kernel, shared by all places that it is drawn in. */
export class PanelStore {
  snapshot: Snapshot | null = null;
  /** An action is with the kernel. */
  busy = false;
  /** The kernel should have answered by now. */
  late = false;
  /** One sentence for people who listen instead of look. */
  announced = '';

  readonly #model: PanelModel;
  readonly #onLine: (isLive: boolean) => void;
  readonly #listeners = new Set<() => void>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #probe: ReturnType<typeof setTimeout> | undefined;

  /** `onLine` hears each time that the kernel has answered, and when it cannot be reached any more. */
  constructor(model: PanelModel, onLine: (isLive: boolean) => void) {
    this.#model = model;
    this.#onLine = onLine;
    model.on('msg:custom', this.#onMessage);
    model.on('comm_live_update', this.#onLineChanged);
  }

  /** Asks the kernel for the panel. */
  open(): void {
    this.#send({ kind: 'ready' });
  }

  dispose(): void {
    this.#model.off('msg:custom', this.#onMessage);
    this.#model.off('comm_live_update', this.#onLineChanged);
    clearTimeout(this.#timer);
    clearTimeout(this.#probe);
    this.#listeners.clear();
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Sends what the person did, unless something they did before is still being done. */
  act(action: Action): void {
    if (this.busy || !this.snapshot) return;
    this.busy = true;
    this.#send({ kind: 'action', seq: this.snapshot.seq, ...action });
    this.#timer = setTimeout(() => {
      this.late = true;
      this.#changed();
    }, TIMES.answer);
    this.#changed();
  }

  #onMessage = (message: FromKernel | undefined): void => {
    if (message?.kind !== 'panel') return;
    clearTimeout(this.#probe);
    clearTimeout(this.#timer);
    const before = this.snapshot;
    this.busy = this.late = false;
    this.snapshot = message;
    if (before && before.seq !== message.seq) this.announced = announcement(message.state);
    this.#onLine(true);
    this.#changed();
  };

  /** A kernel that was restarted does not answer. */
  #onLineChanged = (): void => {
    clearTimeout(this.#probe);
    this.#probe = setTimeout(() => this.#onLine(false), TIMES.probe);
    this.#send({ kind: 'resync' });
  };

  #send(message: ToKernel): void {
    try {
      this.#model.send(message);
    } catch (error) {
      console.warn('deep_notebook: the kernel could not be reached.', error);
      this.#onLine(false);
    }
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}

function announcement(panel: Panel): string {
  if (panel.notice) return panel.notice;
  switch (panel.kind) {
    case 'timeline':
      return panel.ask ? `${words.question(panel.ask)} ${words.goingBack(panel.ask)}` : (panel.undo ?? '');
    case 'changes':
      return words.reviewed(panel);
    case 'search':
      return words.searched(panel);
    case 'pages':
      return words.page(panel);
  }
}
