/** States to look at and to test with: the shared fixtures, and what they do not show. */
import askingJson from '../../../../tests/fixtures/run_states/asking.json';
import delegatedJson from '../../../../tests/fixtures/run_states/delegated.json';
import doneJson from '../../../../tests/fixtures/run_states/done.json';
import stoppedJson from '../../../../tests/fixtures/run_states/stopped.json';
import waitingJson from '../../../../tests/fixtures/run_states/waiting.json';
import type { Approval, RunState, ToolStep } from '../src/protocol';

export const done = doneJson as unknown as RunState;
export const stopped = stoppedJson as unknown as RunState;
export const asking = askingJson as unknown as RunState;
export const delegated = delegatedJson as unknown as RunState;
export const waiting = waitingJson as unknown as RunState;

const [question] = waiting.approvals as [Approval];
const [readFile] = waiting.steps as [ToolStep];

const ANSWER = `Here is what I found in \`sales.csv\`.

## Totals per region

| region | amount | share |
|---|---:|---:|
| north | 12,480 | 57 % |
| south | 9,310 | 43 % |

The mean is \\(\\bar{x} = \\frac{1}{n}\\sum_i x_i\\), and it cost $5 to $10 a piece. See [the data](https://example.org/sales).

1. Group by region
2. Sum the amounts
   - as integers
   - without *missing* values

\`\`\`python
totals = df.groupby("region").amount.sum().sort_values(ascending=False)
totals.to_frame().assign(share=lambda t: t.amount / t.amount.sum()).to_markdown("report.md")
\`\`\`

> The south has no entry for **October**.

I am writing the re`;

const CHART = btoa(
  '<svg xmlns="http://www.w3.org/2000/svg" width="320" height="120"><rect width="320" height="120" fill="#fff"/>' +
    '<rect x="40" y="20" width="90" height="90" fill="#1976d2"/><rect x="180" y="45" width="90" height="65" fill="#888"/></svg>',
);

export const running: RunState = {
  ...waiting,
  phase: 'running',
  approvals: [],
  thinking: 'The person wants totals per region.\nFirst I look at the columns.',
  steps: [
    { kind: 'say', text: 'I look at the file first.' },
    readFile,
    {
      ...readFile,
      id: 'call_9',
      name: 'run_python',
      tool_class: 'execute',
      summary: 'df.groupby("region").amount.sum().plot.bar()',
      result: '\u001b[32mpassed\u001b[0m, \u001b[1;31m1 failed\u001b[0m <b>not bold</b>',
      images: [{ media_type: 'image/svg+xml', data: CHART }],
      seconds: 12.6,
    },
    {
      ...readFile,
      id: 'call_10',
      name: 'grep',
      summary: 'TODO in **/*.py',
      status: 'running',
      seconds: null,
      result: '',
    },
  ],
  answer: ANSWER,
};

export const questions: RunState = {
  ...waiting,
  approvals: [
    question,
    {
      ...question,
      id: 'call_4',
      tool: 'execute',
      tool_class: 'execute',
      title: 'Run a command?',
      path: null,
      detail: 'in the workspace',
      diff: null,
      args: 'command: pytest -q tests/test_report.py\ntimeout: 60',
      editable: { name: 'command', text: 'pytest -q tests/test_report.py' },
      asked_by: 'tester',
    },
    {
      ...question,
      id: 'call_5',
      tool: 'edit_file',
      title: 'Edit config.yaml?',
      path: 'config.yaml',
      detail: '1 line changed',
      diff: '--- config.yaml\n+++ config.yaml\n@@ -1,4 +1,4 @@\n host: localhost\n-port: 8080\n+port: 9090\n debug: false\n name: a line that is much longer than what a narrow page can show, so that it has to scroll sideways to be read in full\n',
    },
  ],
};

export const failed: RunState = {
  ...stopped,
  phase: 'failed',
  banner: 'Replayed · recorded with a scripted model on 2026-11-30',
  error: 'The model could not be reached: check the key in `.env`, or take another model with `%deep model`.',
  notice: 'The conversation is intact. Your next `%%deep` continues from here.',
};

export const suspended: RunState = {
  ...waiting,
  phase: 'suspended',
  approvals: [{ ...question, state: 'suspended' }],
  notice: 'Nobody could answer here. `%deep approve` or `%deep deny` answers, and the run goes on.',
};

export const long: RunState = {
  ...running,
  steps: Array.from({ length: 150 }, (_, index) => ({
    ...readFile,
    id: `call_${index}`,
    summary: `part-${index}.csv`,
  })),
  answer: '',
};

export const starting: RunState = { ...waiting, phase: 'starting', todos: [], steps: [], approvals: [], elapsed: 0.4 };

export const all: Record<string, RunState> = {
  starting,
  running,
  waiting,
  questions,
  done,
  stopped,
  failed,
  suspended,
  delegated,
  asking,
  long,
};
