/** The run state and the messages, as the kernel's `views/run_state.py` and `views/widget.py` write them. */

export type Phase = 'starting' | 'running' | 'waiting' | 'done' | 'stopped' | 'failed' | 'suspended';

export interface Usage {
  requests: number;
  input_tokens: number;
  output_tokens: number;
  /** US dollars as decimal strings. */
  cost: string | null;
  priced: boolean;
  budget: string | null;
}

export interface Todo {
  id: string;
  content: string;
  status: 'pending' | 'in_progress' | 'completed' | 'blocked';
}

export interface SayStep {
  kind: 'say';
  text: string;
}

/** One task that a tool call gave to a subagent. */
export interface Subagent {
  id: string;
  name: string;
  prompt: string;
  /** It goes on after the call has returned. */
  background: boolean;
  status: 'running' | 'done' | 'failed' | 'cancelled';
  /** What it does now, or how it ended. */
  line: string;
  todos: Todo[];
  seconds: number | null;
  /** Without the diffs: those are with the run's own files. */
  files: ChangedFile[];
}

export interface ToolStep {
  kind: 'tool';
  id: string;
  name: string;
  tool_class: ToolClass;
  summary: string;
  args: string;
  status: 'running' | 'waiting' | 'ok' | 'failed' | 'denied' | 'interrupted';
  result: string;
  truncated: boolean;
  seconds: number | null;
  note: string | null;
  images: { media_type: string; data: string }[];
  subagents: Subagent[];
}

export type Step = SayStep | ToolStep;
export type ToolClass = 'read' | 'write' | 'execute';

export interface Approval {
  id: string;
  tool: string;
  tool_class: ToolClass;
  title: string;
  path: string | null;
  detail: string;
  diff: string | null;
  args: string;
  editable: { name: string; text: string } | null;
  asked_by: string;
  /** The step whose subagent asks; `null` when it is the step with the question's own id. */
  step: string | null;
  state: 'pending' | 'approved' | 'edited' | 'denied' | 'superseded' | 'cancelled' | 'suspended';
  reason: string | null;
  channel: string | null;
}

/** One answer that the person can pick. */
export interface Choice {
  label: string;
  description: string;
  recommended: boolean;
}

/** One decision that the person is asked for. */
export interface Question {
  id: string;
  text: string;
  choices: Choice[];
  asked_by: string;
  /** The step that asks, itself or through a subagent. */
  step: string | null;
  state: 'pending' | 'superseded' | 'answered' | 'unanswered';
  answer: string | null;
}

export interface ChangedFile {
  path: string;
  added: number;
  removed: number;
  diff: string | null;
}

export interface RunState {
  run: string;
  prompt: string;
  phase: Phase;
  model: { name: string; label: string; local: boolean };
  banner: string | null;
  /** Unix seconds by the kernel's clock. */
  started: number;
  /** Seconds up to the moment the state was sent. */
  elapsed: number;
  usage: Usage;
  todos: Todo[];
  steps: Step[];
  approvals: Approval[];
  questions: Question[];
  thinking: string;
  answer: string;
  files: ChangedFile[];
  notice: string | null;
  error: string | null;
}

export type Op =
  | ['set', (string | number)[], unknown]
  | ['append', (string | number)[], string]
  | ['push', (string | number)[], unknown[]];

export interface Snapshot {
  kind: 'snapshot';
  seq: number;
  state: RunState;
}

export interface Patch {
  kind: 'patch';
  seq: number;
  ops: Op[];
}

export type FromKernel = Snapshot | Patch;

export interface DecisionMessage {
  kind: 'decision';
  id: string;
  verdict: 'approve' | 'deny';
  text: string | null;
  reason: string | null;
  scope: 'once' | 'tool' | 'path';
}

/** The number of a choice, counted from 0, or words of the person's own. */
export interface AnswerMessage {
  kind: 'answer';
  id: string;
  option: number | null;
  text: string | null;
}

export type ToKernel = { kind: 'ready' | 'resync' | 'stop' } | DecisionMessage | AnswerMessage;

/** What the host gives a widget: anywidget's model, as far as it is used here. */
export interface HostModel<Message = ToKernel> {
  get(name: string): unknown;
  send(message: Message): void;
  // biome-ignore lint/suspicious/noExplicitAny: the host's events carry different arguments.
  on(name: string, callback: (...args: any[]) => void): void;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  off(name: string, callback: (...args: any[]) => void): void;
  widget_manager?: unknown;
}

export const isLive = (phase: Phase): boolean => phase === 'starting' || phase === 'running' || phase === 'waiting';
