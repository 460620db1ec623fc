import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Approval, Question, RunState, ToolStep } from '../protocol';
import type { Typesetter } from '../typeset';
import * as words from '../words';
import { Below, QuestionDetails, Row } from './below';
import { Markdown } from './markdown';
import { Output } from './output';
import { Button, Diff, OWN_KEYS } from './parts';

const STEPS_SHOWN = 60;
const TOOL_MARKS: Record<ToolStep['status'], string> = {
  ok: '✓',
  running: '◌',
  waiting: '?',
  failed: '✗',
  denied: '✗',
  interrupted: '■',
};
const IMAGE = /^image\/(?:png|jpeg|gif|webp|svg\+xml)$/;

interface LogProps {
  state: RunState;
  typesetter: Typesetter | null;
}

export function Log({ state, typesetter }: LogProps) {
  const { steps, thinking } = state;
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
            <ToolRow key={step.id} step={step} state={state} />
          ),
        )}
      </ul>
      {thinking && <Thinking text={thinking} />}
    </>
  );
}

function ToolRow({ step, state }: { step: ToolStep; state: RunState }) {
  const [open, setOpen] = useState(false);
  const images = step.images.filter(({ media_type }) => IMAGE.test(media_type));
  const approval = state.approvals.find(({ id }) => id === step.id);
  const asked = state.questions.filter(question => question.step === step.id);
  const question = step.subagents.length ? undefined : asked[0];
  return (
    <li class={`dn-tool dn-${step.status}`}>
      <details open={open} onToggle={event => setOpen(event.currentTarget.open)}>
        <summary {...OWN_KEYS}>
          <Row
            mark={TOOL_MARKS[step.status]}
            name={step.name}
            status={step.status}
            time={step.status === 'running' ? '…' : words.seconds(step.seconds)}
          >
            {step.summary && <code title={step.summary}>{step.summary}</code>}
            {step.summary && step.note && ' · '}
            {step.note && <span class="dn-note">{step.note}</span>}
          </Row>
        </summary>
        {open && <ToolDetails {...{ step, approval, question }} />}
      </details>
      {images.map(({ media_type, data }, index) => (
        <img key={index} src={`data:${media_type};base64,${data}`} alt={`Output ${index + 1} of ${step.name}`} />
      ))}
      <Below
        step={step}
        approvals={state.approvals.filter(approval => approval.step === step.id)}
        questions={question ? [] : asked}
      />
    </li>
  );
}

interface DetailsProps {
  step: ToolStep;
  approval: Approval | undefined;
  question: Question | undefined;
}

function ToolDetails({ step, approval, question }: DetailsProps) {
  if (question) return <QuestionDetails question={question} />;
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
