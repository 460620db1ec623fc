import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Approval, Step, Todo, ToolStep } from '../protocol';
import type { Typesetter } from '../typeset';
import * as words from '../words';
import { Markdown } from './html';
import { Button, Diff, Output, OWN_KEYS } from './parts';

const STEPS_SHOWN = 60;
const TODO_MARKS: Record<Todo['status'], string> = { completed: '✓', in_progress: '◐', pending: '○', blocked: '⊘' };
const TOOL_MARKS: Record<ToolStep['status'], string> = {
  ok: '✓',
  running: '◌',
  waiting: '?',
  failed: '✗',
  denied: '✗',
  interrupted: '■',
};
const IMAGE = /^image\/(?:png|jpeg|gif|webp|svg\+xml)$/;

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

interface LogProps {
  steps: Step[];
  approvals: Approval[];
  thinking: string;
  typesetter: Typesetter | null;
}

export function Log({ steps, approvals, thinking, typesetter }: LogProps) {
  const [all, setAll] = useState(false);
  const skipped = all ? 0 : Math.max(0, steps.length - STEPS_SHOWN);
  return (
    <>
      {skipped > 0 && (
        <Button kind="quiet" onClick={() => setAll(true)}>
          Show {String(skipped)} earlier steps
        </Button>
      )}
      <ul class="dn-log">
        {steps.slice(skipped).map((step, index) =>
          step.kind === 'say' ? (
            <li key={skipped + index} class="dn-say">
              <Markdown text={step.text} typesetter={typesetter} />
            </li>
          ) : (
            <ToolRow key={step.id} step={step} approval={approvals.find(({ id }) => id === step.id)} />
          ),
        )}
      </ul>
      {thinking && <Thinking text={thinking} />}
    </>
  );
}

function ToolRow({ step, approval }: { step: ToolStep; approval: Approval | undefined }) {
  const [open, setOpen] = useState(false);
  const images = step.images.filter(({ media_type }) => IMAGE.test(media_type));
  return (
    <li class={`dn-tool dn-${step.status}`}>
      <details open={open} onToggle={event => setOpen(event.currentTarget.open)}>
        <summary {...OWN_KEYS}>
          <span class="dn-mark" aria-hidden="true">
            {TOOL_MARKS[step.status]}
          </span>
          <b>{step.name}</b>
          <span class="dn-what">
            {step.summary && <code title={step.summary}>{step.summary}</code>}
            {step.summary && step.note && ' · '}
            {step.note && <span class="dn-note">{step.note}</span>}
          </span>
          <span class="dn-unseen"> ({step.status})</span>
          <span class="dn-time">{step.status === 'running' ? '…' : words.seconds(step.seconds)}</span>
        </summary>
        {open && <ToolDetails step={step} approval={approval} />}
      </details>
      {images.map(({ media_type, data }, index) => (
        <img key={index} src={`data:${media_type};base64,${data}`} alt={`Output ${index + 1} of ${step.name}`} />
      ))}
    </li>
  );
}

function ToolDetails({ step, approval }: { step: ToolStep; approval: Approval | undefined }) {
  return (
    <div class="dn-details">
      {approval && approval.state !== 'pending' && <p class="dn-muted">{capital(words.approval(approval))}</p>}
      {approval?.diff ? (
        <Captioned caption="Change">
          <Diff diff={approval.diff} label={`Change by ${step.name}`} />
        </Captioned>
      ) : (
        step.args && (
          <Captioned caption="Arguments">
            <Output text={step.args} label={`Arguments of ${step.name}`} />
          </Captioned>
        )
      )}
      {step.result && (
        <Captioned caption="Result">
          <Output text={step.result} label={`Result of ${step.name}`} />
        </Captioned>
      )}
      {step.truncated && <p class="dn-muted">Shortened for this view.</p>}
      {!step.args && !step.result && !approval?.diff && <p class="dn-muted">Nothing to show yet.</p>}
    </div>
  );
}

function Captioned({ caption, children }: { caption: string; children: ComponentChildren }) {
  return (
    <>
      <div class="dn-caption">{caption}</div>
      {children}
    </>
  );
}

function Thinking({ text }: { text: string }) {
  return (
    <details class="dn-thinking">
      <summary {...OWN_KEYS}>Thinking</summary>
      <Output text={text} label="Thinking" />
    </details>
  );
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
