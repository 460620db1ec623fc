import type { Approval, Question, RunState, Subagent, Todo, ToolStep, Usage } from './protocol';

export const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`;

/** The time of a run, in whole seconds: `14 s`, `2 min 5 s`, `1 h 2 min`. */
export function elapsed(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  const rest = whole % 60;
  if (hours) return minutes ? `${hours} h ${minutes} min` : `${hours} h`;
  if (minutes) return rest ? `${minutes} min ${rest} s` : `${minutes} min`;
  return `${rest} s`;
}

/** The time of one tool: tenths below ten seconds. */
export function seconds(value: number | null): string {
  if (value === null) return '';
  const tenths = Math.floor(value * 10 + 0.5);
  if (tenths === 0) return '< 0.1 s';
  return tenths < 100 ? `${(tenths / 10).toFixed(1)} s` : elapsed(Math.max(value, 10));
}

/** A number of tokens to about three digits. */
export function tokens(n: number): string {
  if (n < 1000) return count(n, 'token');
  const inTenths = (tenths: number): string => (tenths / 10).toFixed(1);
  if (n < 99_950) return `${inTenths(Math.round(n / 100))}k tokens`;
  if (n < 999_500) return `${Math.round(n / 1000)}k tokens`;
  return `${inTenths(Math.round(n / 100_000))}M tokens`;
}

/** What a run has cost, empty as long as there is nothing to say. An unknown price is never zero. */
export function cost(usage: Pick<Usage, 'cost' | 'priced' | 'budget'>, local: boolean): string {
  if (local) return 'no cost';
  const limit = usage.budget ? exact(usage.budget) : null;
  if (!usage.priced) return limit ? `price unknown, limit of ${limit} not enforced` : 'price unknown';
  if (limit) return `${rounded(usage.cost ?? '0')} of ${limit}`;
  return usage.cost === null ? '' : rounded(usage.cost);
}

function rounded(decimal: string): string {
  const value = Number(decimal);
  return value > 0 && value < 0.01 ? '< $0.01' : `$${inCents(value)}`;
}

function exact(decimal: string): string {
  const value = Number(decimal);
  const cents = inCents(value);
  return `$${Number(cents) === value ? cents : value}`;
}

const inCents = (value: number): string => (Math.round((value + Number.EPSILON) * 100) / 100).toFixed(2);

export function phase(state: Pick<RunState, 'phase' | 'error'>): string {
  switch (state.phase) {
    case 'starting':
      return 'Starting';
    case 'running':
      return 'Working';
    case 'waiting':
      return 'Waiting for you';
    case 'done':
      return 'Done';
    case 'stopped':
      return state.error ? 'Stopped' : 'Stopped by you';
    case 'failed':
      return 'Failed';
    case 'suspended':
      return 'Suspended, waiting for an answer';
  }
}

/** What stands beside the phase: the model, the time, the tokens, the cost. */
export function meta(state: RunState, time: number): string[] {
  const { model, usage } = state;
  const used = usage.input_tokens + usage.output_tokens;
  const parts = [model.label || model.name, elapsed(time), used ? tokens(used) : '', cost(usage, model.local)];
  return parts.filter(Boolean);
}

export const plan = (done: number, all: number): string => `Plan · ${done} of ${all}`;

export function work(tools: number, total: number | null): string {
  return `Work · ${count(tools, 'tool')}${total === null ? '' : `, ${seconds(total)}`}`;
}

export const files = (n: number): string => `${count(n, 'file')} changed`;

export function approval({ state, reason, channel }: Pick<Approval, 'state' | 'reason' | 'channel'>): string {
  const by = channel === 'policy' ? 'by policy' : channel === 'earlier' ? 'with an earlier answer' : 'by you';
  switch (state) {
    case 'pending':
      return 'waiting for you';
    case 'approved':
      return `approved ${by}`;
    case 'edited':
      return `approved ${by} with edits`;
    case 'denied':
      return `denied ${by}${reason ? `: "${reason}"` : ''}`;
    case 'superseded':
      return 'asked again elsewhere';
    case 'cancelled':
      return 'cancelled, the run ended first';
    case 'suspended':
      return 'waiting for %deep approve or %deep deny';
  }
}

/** A question and what became of it: `Write report.md? · approved by you`. */
export function asked(question: Pick<Approval, 'title' | 'path' | 'args' | 'state' | 'reason' | 'channel'>): string {
  const args = question.path ? '' : (question.args.split('\n', 1)[0] ?? '');
  return `${[question.title, args].filter(Boolean).join(' ')} · ${approval(question)}`;
}

/** What became of a question: `you chose: 9090`. */
export function question({ state, answer, choices }: Pick<Question, 'state' | 'answer' | 'choices'>): string {
  switch (state) {
    case 'pending':
      return 'waiting for you';
    case 'superseded':
      return 'asked again elsewhere';
    case 'answered':
      return `you ${choices.some(({ label }) => label === answer) ? 'chose' : 'answered'}: ${answer}`;
    case 'unanswered':
      return 'not answered';
  }
}

/** What is beside the name of a subagent: its task where the step does not say it, and what it does. */
export function subagent(
  child: Pick<Subagent, 'id' | 'background' | 'prompt' | 'line'>,
  step: Pick<ToolStep, 'summary'>,
): string {
  const label = child.background ? `${child.id} in the background` : '';
  const told = child.prompt === step.summary ? '' : child.prompt;
  return [label, told, child.line].filter(Boolean).join(' · ');
}

/** The heading of a subagent's plan with what it is at: `Plan · 1 of 3 · Count the rows`. */
export function ownPlan(todos: Pick<Todo, 'content' | 'status'>[]): string {
  const done = todos.filter(({ status }) => status === 'completed').length;
  const now = todos.find(({ status }) => status === 'in_progress');
  return [plan(done, todos.length), now?.content].filter(Boolean).join(' · ');
}
