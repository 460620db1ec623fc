import { useMemo, useRef } from 'preact/hooks';
import { revealed } from '../plain';
import type { Choice, Question } from '../protocol';
import type { RunStore } from '../store';
import * as words from '../words';
import { Card } from './card';
import { Button, OWN_KEYS, OWN_TEXT, useUniqueId } from './parts';

interface Props {
  question: Question;
  store: RunStore;
}

/** One decision, its choices as buttons, and a place for an answer that is not among them. */
export function QuestionCard({ question: asked, store }: Props) {
  const question = useMemo(() => shownInFull(asked), [asked]);
  const card = useRef<HTMLElement>(null);
  const titleId = useUniqueId();
  return (
    <Card id={question.id} {...{ card, store, titleId }}>
      <div>
        <span class="dn-title dn-asked" id={titleId}>
          {question.text}
        </span>{' '}
        <span class="dn-muted">asked by {question.asked_by}</span>
      </div>
      {question.state === 'pending' ? (
        <Answer {...{ question, store }} focusCard={() => card.current?.focus({ preventScroll: true })} />
      ) : (
        <>
          <Choices question={question} />
          <div class="dn-muted">{words.question(question)}</div>
        </>
      )}
    </Card>
  );
}

/** What the person decides on must not hide anything. */
function shownInFull(question: Question): Question {
  const choices = question.choices.map(choice => ({
    ...choice,
    label: revealed(choice.label),
    description: revealed(choice.description),
  }));
  return { ...question, text: revealed(question.text), asked_by: revealed(question.asked_by), choices };
}

function Answer({ question, store, focusCard }: Props & { focusCard: () => void }) {
  const id = useUniqueId();
  const sent = store.sent(question.id);
  const disabled = sent !== undefined || !store.canAct;
  const text = store.draft(question.id).text ?? '';
  /** The second click of a double click is not an answer: what it hits may have moved there in between. */
  const answer = (event: UIEvent, chosen: number | string) => {
    if (event.detail > 1 || disabled || chosen === '') return;
    focusCard();
    store.answer(question.id, chosen);
  };
  const chosen = sent?.message.kind === 'answer' ? sent.message.option : null;
  return (
    <>
      <div class="dn-choices" role="group" aria-label="Choices">
        {question.choices.map((choice, index) => (
          <button
            key={index}
            type="button"
            class={`dn-button dn-choice${chosen === index ? ' dn-chosen' : ''}`}
            disabled={disabled}
            onClick={event => answer(event, index)}
            {...OWN_KEYS}
          >
            <Label choice={choice} />
          </button>
        ))}
      </div>
      <form class="dn-form" onSubmit={event => event.preventDefault()}>
        <label for={id}>Or an answer of your own</label>
        <div class="dn-row">
          <input
            {...OWN_TEXT}
            id={id}
            type="text"
            disabled={disabled}
            value={text}
            onInput={event => store.setDraft(question.id, { text: event.currentTarget.value })}
            onKeyDown={event => {
              if (event.key === 'Enter' && !event.isComposing && !event.repeat) answer(event, text.trim());
            }}
          />
          <Button disabled={disabled || !text.trim()} onClick={event => answer(event, text.trim())}>
            Answer
          </Button>
          {sent && <span class="dn-muted">answer sent…</span>}
        </div>
      </form>
    </>
  );
}

function Label({ choice: { label, description, recommended } }: { choice: Choice }) {
  return (
    <>
      <b>{label}</b> {recommended && <span class="dn-tag">recommended</span>}{' '}
      {description && <span class="dn-muted">{description}</span>}
    </>
  );
}

/** What there was to choose, the chosen one marked. */
export function Choices({ question: { choices, answer } }: { question: Question }) {
  return (
    <ul class="dn-todos">
      {choices.map((choice, index) => {
        const chosen = choice.label === answer;
        return (
          <li key={index} class={chosen ? 'dn-completed' : ''}>
            <span class="dn-mark" aria-hidden="true">
              {chosen ? '✓' : '○'}
            </span>
            <span class="dn-row">
              <Label choice={choice} />
            </span>
            {chosen && <span class="dn-unseen"> (chosen)</span>}
          </li>
        );
      })}
    </ul>
  );
}
