import { announcement } from './announce';
import { applyOps, DeltaError } from './delta';
import {
  type AnswerMessage,
  type DecisionMessage,
  type FromKernel,
  type HostModel,
  isLive,
  type Patch,
  type RunState,
} from './protocol';

/** `silent`: the kernel answered before and does not now. `lost`: it never answered, or the line to it is cut. */
export type Connection = 'connecting' | 'live' | 'silent' | 'lost';

/** What the person is typing into one approval or question. Kept here, because a view may be torn down while scrolling. */
export interface Draft {
  mode: 'ask' | 'edit' | 'deny' | 'scope';
  text: string | null;
  reason: string;
}

export interface Sent {
  message: DecisionMessage | AnswerMessage;
  /** The kernel should have answered by now. */
  late: boolean;
}

/** Milliseconds. */
export const TIMES = { firstAnswer: 10_000, probeAnswer: 5_000, silence: 30_000, decision: 8_000, resync: 2_000 };

const NO_DRAFT: Draft = { mode: 'ask', text: null, reason: '' };

/** The state of one run and the line to its kernel, shared by all views of one model. */
export class RunStore {
  state: RunState | null = null;
  connection: Connection = 'connecting';
  stopping = false;
  /** One sentence for people who listen instead of look. */
  announced = '';

  readonly #model: HostModel;
  readonly #listeners = new Set<() => void>();
  readonly #drafts = new Map<string, Draft>();
  readonly #sent = new Map<string, Sent>();
  readonly #timers = new Map<string, ReturnType<typeof setTimeout>>();
  #seq = -1;
  #resyncAsked = Number.NEGATIVE_INFINITY;
  #gap = false;
  #elapsedAt = 0;

  constructor(model: HostModel) {
    this.#model = model;
    model.on('msg:custom', this.#onMessage);
    model.on('change:snapshot', this.#onTrait);
    model.on('comm_live_update', this.#onLineChanged);
    this.#onTrait();
    this.#probe('ready', TIMES.firstAnswer, 'lost');
  }

  dispose(): void {
    this.#model.off('msg:custom', this.#onMessage);
    this.#model.off('change:snapshot', this.#onTrait);
    this.#model.off('comm_live_update', this.#onLineChanged);
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    this.#listeners.clear();
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Whether the kernel can hear a click. */
  get canAct(): boolean {
    return this.connection !== 'lost';
  }

  /** Seconds since the run began; stands still when the run does, or when the kernel cannot be heard. */
  elapsed(): number {
    if (!this.state) return 0;
    const ticks = isLive(this.state.phase) && (this.connection === 'live' || this.connection === 'connecting');
    return this.state.elapsed + (ticks ? (performance.now() - this.#elapsedAt) / 1000 : 0);
  }

  draft(id: string): Draft {
    return this.#drafts.get(id) ?? NO_DRAFT;
  }

  setDraft(id: string, change: Partial<Draft>): void {
    this.#drafts.set(id, { ...this.draft(id), ...change });
    this.#changed();
  }

  sent(id: string): Sent | undefined {
    return this.#sent.get(id);
  }

  /** Sends the answer to one approval, once; what follows is the kernel's to say. */
  decide(
    id: string,
    verdict: DecisionMessage['verdict'],
    more: Partial<Pick<DecisionMessage, 'text' | 'reason' | 'scope'>> = {},
  ): void {
    this.#sendOnce({ kind: 'decision', id, verdict, text: null, reason: null, scope: 'once', ...more });
  }

  /** Sends the answer to one question, once: the number of a choice, counted from 0, or the person's own words. */
  answer(id: string, answer: number | string): void {
    const isChoice = typeof answer === 'number';
    this.#sendOnce({ kind: 'answer', id, option: isChoice ? answer : null, text: isChoice ? null : answer });
  }

  /** Sends the same answer again, when no reaction came. The kernel takes only the first. */
  sendAgain(id: string): void {
    const sent = this.#sent.get(id);
    if (!sent?.late || !this.canAct) return;
    this.#sent.delete(id);
    this.#sendOnce(sent.message);
  }

  stop(): void {
    if (!this.canAct || this.stopping) return;
    this.stopping = true;
    this.#send({ kind: 'stop' });
    this.#after('stop', TIMES.decision, () => {
      this.stopping = false;
      this.#changed();
    });
    this.#changed();
  }

  #sendOnce(message: Sent['message']): void {
    if (!this.canAct || this.#sent.has(message.id)) return;
    this.#sent.set(message.id, { message, late: false });
    this.#send(message);
    this.#after(`decision ${message.id}`, TIMES.decision, () => {
      const sent = this.#sent.get(message.id);
      if (sent) this.#sent.set(message.id, { ...sent, late: true });
      this.#changed();
    });
    this.#changed();
  }

  #onMessage = (message: FromKernel | undefined): void => {
    if (message?.kind === 'snapshot') {
      this.#gap = false;
      this.#seq = message.seq;
      this.#hear(message.state);
    } else if (message?.kind === 'patch') {
      this.#patch(message);
    }
  };

  #patch(message: Patch): void {
    if (message.seq <= this.#seq && !this.#gap) {
      this.#hear(this.state);
      return;
    }
    const next = this.#gap || message.seq !== this.#seq + 1 ? null : this.#patched(message);
    if (next) this.#seq = message.seq;
    this.#gap = next === null;
    this.#hear(next ?? this.state);
    if (this.#gap && performance.now() - this.#resyncAsked > TIMES.resync) {
      this.#resyncAsked = performance.now();
      this.#send({ kind: 'resync' });
    }
  }

  #patched(message: Patch): RunState | null {
    try {
      return this.state && applyOps(this.state, message.ops);
    } catch (error) {
      if (!(error instanceof DeltaError)) throw error;
      console.warn('deep_notebook: a patch did not fit, asking for the whole state.', error);
      return null;
    }
  }

  /** The state a view is created with, before any message: also after a page reload, or without a kernel. */
  #onTrait = (): void => {
    const snapshot = this.#model.get('snapshot') as { seq?: number; state?: RunState } | null | undefined;
    if (!snapshot?.state || typeof snapshot.seq !== 'number' || snapshot.seq <= this.#seq) return;
    this.#seq = snapshot.seq;
    this.#gap = false;
    this.#accept(snapshot.state);
    this.#changed();
  };

  #onLineChanged = (): void => this.#probe('resync', TIMES.probeAnswer, 'lost');

  /** Any message shows that the kernel is there. */
  #hear(state: RunState | null): void {
    this.connection = 'live';
    clearTimeout(this.#timers.get('probe'));
    if (state && state !== this.state) this.#accept(state);
    if (this.state && isLive(this.state.phase)) {
      this.#after('silence', TIMES.silence, () => this.#probe('resync', TIMES.probeAnswer, 'silent'));
    } else {
      clearTimeout(this.#timers.get('silence'));
    }
    this.#changed();
  }

  #accept(state: RunState): void {
    const previous = this.state;
    this.state = state;
    if (previous?.elapsed !== state.elapsed || previous.phase !== state.phase) this.#elapsedAt = performance.now();
    const asked = [...state.approvals, ...state.questions];
    const pending = new Set(asked.filter(({ state }) => state === 'pending').map(({ id }) => id));
    for (const id of this.#sent.keys()) {
      if (pending.has(id)) continue;
      this.#sent.delete(id);
      clearTimeout(this.#timers.get(`decision ${id}`));
    }
    for (const id of this.#drafts.keys()) if (!pending.has(id)) this.#drafts.delete(id);
    if (!isLive(state.phase)) this.stopping = false;
    this.announced = announcement(previous, state) ?? this.announced;
  }

  #probe(kind: 'ready' | 'resync', patience: number, otherwise: Connection): void {
    this.#after('probe', patience, () => {
      if (this.state && !isLive(this.state.phase)) return;
      this.#cut(otherwise);
      if (otherwise === 'silent') this.#after('silence', TIMES.silence, () => this.#probe(kind, patience, otherwise));
    });
    this.#send({ kind });
  }

  #send(message: Parameters<HostModel['send']>[0]): void {
    try {
      this.#model.send(message);
    } catch (error) {
      console.warn('deep_notebook: the kernel could not be reached.', error);
      this.#cut('lost');
    }
  }

  #cut(connection: Connection): void {
    this.connection = connection;
    if (connection === 'lost') {
      this.announced = 'Not connected to the kernel.';
      clearTimeout(this.#timers.get('silence'));
      this.#sent.clear();
      this.stopping = false;
    }
    this.#changed();
  }

  #after(name: string, milliseconds: number, callback: () => void): void {
    clearTimeout(this.#timers.get(name));
    this.#timers.set(name, setTimeout(callback, milliseconds));
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
