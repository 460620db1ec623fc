import type { FromKernel, HostModel, RunState, ToKernel } from '../src/protocol';

/** A kernel that is not there: holds a state, keeps what it is sent, and answers when `alive`. */
export class FakeModel implements HostModel {
  readonly sent: ToKernel[] = [];
  seq = 0;
  broken = false;
  readonly #callbacks = new Map<string, Set<(...args: unknown[]) => void>>();

  constructor(
    public state: RunState,
    public alive = true,
  ) {}

  get(name: string): unknown {
    return name === 'snapshot' ? { seq: this.seq, state: this.state } : undefined;
  }

  send(message: ToKernel): void {
    if (this.broken) throw new Error('the comm is closed');
    this.sent.push(message);
    if (this.alive && (message.kind === 'ready' || message.kind === 'resync')) this.snapshot();
  }

  on(name: string, callback: (...args: unknown[]) => void): void {
    const callbacks = this.#callbacks.get(name) ?? new Set();
    this.#callbacks.set(name, callbacks.add(callback));
  }

  off(name: string, callback: (...args: unknown[]) => void): void {
    this.#callbacks.get(name)?.delete(callback);
  }

  snapshot(): void {
    this.tell({ kind: 'snapshot', seq: this.seq, state: this.state });
  }

  /** Moves on to `state` with one patch. */
  become(state: RunState): void {
    this.state = state;
    this.seq += 1;
    this.tell({ kind: 'patch', seq: this.seq, ops: [['set', [], state]] });
  }

  tell(message: FromKernel): void {
    this.trigger('msg:custom', message);
  }

  trigger(name: string, ...args: unknown[]): void {
    for (const callback of this.#callbacks.get(name) ?? []) callback(...args);
  }

  of(kind: ToKernel['kind']): ToKernel[] {
    return this.sent.filter(message => message.kind === kind);
  }
}
