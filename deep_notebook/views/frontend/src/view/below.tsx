import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Approval, Question, Subagent, Todo, ToolStep } from '../protocol';
import * as words from '../words';
import { Output } from './output';
import { Counts, Diff, OWN_KEYS } from './parts';
import { Choices } from './question';

const TODO_MARKS: Record<Todo['status'], string> = { completed: '✓', in_progress: '◐', pending: '○', blocked: '⊘' };
const CHILD_MARKS: Record<Subagent['status'], string> = { running: '◌', done: '✓', failed: '✗', cancelled: '■' };
const ASKED_MARKS: Partial<Record<(Approval | Question)['state'], string>> = {
  approved: '✓',
  edited: '✓',
  answered: '✓',
  denied: '✗',
  cancelled: '■',
  unanswered: '■',
};

export function Plan({ todos }: { todos: Todo[] }) {
  return (
    <ul class="dn-todos">
      {todos.map(({ id, content, status }) => (
        <li key={id} class={`dn-${status}`}>
          <span class="dn-mark" aria-hidden="true">
            {TODO_MARKS[status]}
          </span>
          <span class="dn-todo">{content}</span>
          <span class={status === 'blocked' ? 'dn-muted' : 'dn-unseen'}> ({status.replace('_', ' ')})</span>
        </li>
      ))}
    </ul>
  );
}

interface RowProps {
  mark: string;
  name: string;
  /** For those who cannot see the mark. */
  status: string;
  time?: string;
  children: ComponentChildren;
}

/** A mark, who did it, what, and how long it took, each in its column. */
export function Row({ mark, name, status, time = '', children }: RowProps) {
  return (
    <>
      <span class={`dn-mark dn-${status}`} aria-hidden="true">
        {mark}
      </span>
      <b>{name}</b>
      <span class={`dn-what dn-${status}`}>{children}</span>
      <span class="dn-unseen"> ({status})</span>
      <span class="dn-time">{time}</span>
    </>
  );
}

interface BelowProps {
  step: ToolStep;
  approvals: Approval[];
  questions: Question[];
}

/** What the subagents of a step do, and what they asked. */
export function Below({ step, approvals, questions }: BelowProps) {
  if (!step.subagents.length && !approvals.length && !questions.length) return null;
  return (
    <ul class="dn-below">
      {step.subagents.map(child => (
        <Child key={child.id} child={child} step={step} />
      ))}
      {approvals.map(approval => (
        <Asked key={approval.id} asked={approval} what={words.asked(approval)}>
          <AskedDetails approval={approval} />
        </Asked>
      ))}
      {questions.map(question => (
        <Asked key={question.id} asked={question} what={`${question.text} · ${words.question(question)}`}>
          <QuestionDetails question={question} />
        </Asked>
      ))}
    </ul>
  );
}

function Child({ child, step }: { child: Subagent; step: ToolStep }) {
  const what = words.subagent(child, step);
  return (
    <li class="dn-child">
      <div class="dn-line">
        <Row
          mark={CHILD_MARKS[child.status]}
          name={child.name}
          status={child.status}
          time={child.background ? words.seconds(child.seconds) : ''}
        >
          <span class="dn-note" title={what}>
            {what}
          </span>
        </Row>
      </div>
      {child.files.length > 0 && (
        <div class="dn-row dn-under">
          <span class="dn-muted">{words.files(child.files.length)}</span>
          <Counts files={child.files} />
        </div>
      )}
      {child.todos.length > 0 && (
        <details class="dn-more dn-under">
          <summary {...OWN_KEYS}>{words.ownPlan(child.todos)}</summary>
          <Plan todos={child.todos} />
        </details>
      )}
    </li>
  );
}

interface AskedProps {
  asked: Approval | Question;
  what: string;
  children: ComponentChildren;
}

function Asked({ asked: { state, asked_by }, what, children }: AskedProps) {
  const [open, setOpen] = useState(false);
  const isOpen = state === 'pending' || state === 'superseded';
  return (
    <li class="dn-tool">
      <details open={open} onToggle={event => setOpen(event.currentTarget.open)}>
        <summary {...OWN_KEYS}>
          <Row mark={ASKED_MARKS[state] ?? '?'} name={`${asked_by} ${isOpen ? 'asks' : 'asked'}`} status={state}>
            <span title={what}>{what}</span>
          </Row>
        </summary>
        {open && children}
      </details>
    </li>
  );
}

/** A question, what there was to choose, and what became of it. */
export function QuestionDetails({ question }: { question: Question }) {
  return (
    <div class="dn-details">
      <p class="dn-asked">{question.text}</p>
      <Choices question={question} />
      <p class="dn-muted">{words.question(question)}</p>
    </div>
  );
}

/** What has to be known of an approval that was asked about; its card has the buttons. */
function AskedDetails({ approval }: { approval: Approval }) {
  return (
    <div class="dn-details">
      <p class="dn-muted">{[approval.tool, approval.detail].filter(Boolean).join(' · ')}</p>
      {approval.diff ? (
        <Diff diff={approval.diff} label={`Change by ${approval.asked_by}`} />
      ) : (
        <Output text={approval.args} label={`Arguments of ${approval.tool}`} />
      )}
    </div>
  );
}
