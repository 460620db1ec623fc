import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { revealed } from '../plain';
import type { Approval } from '../protocol';
import type { RunStore, Sent } from '../store';
import * as words from '../words';
import { Card } from './card';
import { Output } from './output';
import { Button, Diff, OWN_KEYS, OWN_TEXT, useUniqueId } from './parts';

interface Props {
  approval: Approval;
  store: RunStore;
}

type Decide = (event: UIEvent, verdict: 'approve' | 'deny', more?: Parameters<RunStore['decide']>[2]) => void;

interface FormProps extends Props {
  disabled: boolean;
  decide: Decide;
  back: () => void;
}

/** One question, and everything needed to answer it. */
export function ApprovalCard({ approval: asked, store }: Props) {
  const approval = useMemo(() => shownInFull(asked), [asked]);
  const card = useRef<HTMLElement>(null);
  const titleId = useUniqueId();
  return (
    <Card id={approval.id} {...{ card, store, titleId }}>
      <div class="dn-row">
        <span class="dn-title" id={titleId}>
          <Title approval={approval} />
        </span>
        <span class="dn-tag">{approval.tool_class}</span>
        <span class="dn-muted">{[approval.detail, `asked by ${approval.asked_by}`].filter(Boolean).join(' · ')}</span>
      </div>
      {approval.diff ? (
        <>
          <Diff diff={approval.diff} label={`Proposed change${approval.path ? ` of ${approval.path}` : ''}`} />
          {approval.args && (
            <details class="dn-more">
              <summary {...OWN_KEYS}>All arguments of {approval.tool}</summary>
              <Output text={approval.args} label={`Arguments of ${approval.tool}`} />
            </details>
          )}
        </>
      ) : (
        <>
          <div class="dn-caption">Arguments of {approval.tool}</div>
          <Output text={approval.args} label={`Arguments of ${approval.tool}`} />
        </>
      )}
      {approval.state === 'pending' ? (
        <Answer approval={approval} store={store} focusCard={() => card.current?.focus({ preventScroll: true })} />
      ) : (
        <div class="dn-muted">{words.approval(approval)}</div>
      )}
    </Card>
  );
}

/** What the person reads shows every control character; what they edit stays as it is. */
function shownInFull(approval: Approval): Approval {
  const { title, path, detail, diff, args } = approval;
  return {
    ...approval,
    title: revealed(title),
    path: path && revealed(path),
    detail: revealed(detail),
    diff: diff && revealed(diff),
    args: revealed(args),
  };
}

function Title({ approval: { title, path } }: { approval: Approval }) {
  const at = path ? title.indexOf(path) : -1;
  if (!path || at < 0) return <>{title}</>;
  return (
    <>
      {title.slice(0, at)}
      <code>{path}</code>
      {title.slice(at + path.length)}
    </>
  );
}

function Answer({ approval, store, focusCard }: Props & { focusCard: () => void }) {
  const draft = store.draft(approval.id);
  const sent = store.sent(approval.id);
  const row = useRef<HTMLDivElement>(null);
  const back = (from: 'edit' | 'deny' | 'scope') => {
    store.setDraft(approval.id, { mode: 'ask' });
    requestAnimationFrame(() => row.current?.querySelector<HTMLElement>(`[data-opens=${from}] button`)?.focus());
  };
  /** The second click of a double click is not an answer: what it hits may have moved there in between. */
  const decide: Decide = (event, verdict, more) => {
    if (event.detail > 1) return;
    focusCard();
    store.decide(approval.id, verdict, more);
  };
  const disabled = sent !== undefined || !store.canAct;

  if (draft.mode === 'edit' && approval.editable && !sent) {
    return <Edit {...{ approval, store, disabled }} decide={decide} back={() => back('edit')} />;
  }
  if (draft.mode === 'deny' && !sent) {
    return <Deny {...{ approval, store, disabled }} decide={decide} back={() => back('deny')} />;
  }
  return (
    <>
      <div class="dn-row" ref={row}>
        <Button kind="primary" disabled={disabled} onClick={event => decide(event, 'approve')}>
          Approve
        </Button>
        {approval.editable && (
          <span data-opens="edit">
            <Button disabled={disabled} onClick={() => store.setDraft(approval.id, { mode: 'edit' })}>
              Edit first…
            </Button>
          </span>
        )}
        <span data-opens="deny">
          <Button disabled={disabled} onClick={() => store.setDraft(approval.id, { mode: 'deny' })}>
            Deny…
          </Button>
        </span>
        {sent && <span class="dn-muted">{sentWords(sent)}</span>}
        <span class="dn-grow" />
        <span data-opens="scope">
          <Button
            kind="quiet"
            disabled={disabled}
            expanded={draft.mode === 'scope'}
            onClick={() => (draft.mode === 'scope' ? back('scope') : store.setDraft(approval.id, { mode: 'scope' }))}
          >
            Approve the rest of this run <span class="dn-chevron dn-last" aria-hidden="true" />
          </Button>
        </span>
      </div>
      {draft.mode === 'scope' && !sent && (
        <Scope {...{ approval, disabled }} decide={decide} back={() => back('scope')} />
      )}
    </>
  );
}

const sentWords = ({ message }: Sent): string =>
  message.kind === 'decision' && message.verdict === 'approve' ? 'approval sent…' : 'denial sent…';

function Scope({ approval: { tool, path }, disabled, decide, back }: Omit<FormProps, 'store'>) {
  return (
    <div class="dn-row dn-scope" onKeyDown={event => event.key === 'Escape' && back()}>
      <span>Approve this, and ask no more in this run</span>
      <Button disabled={disabled} onClick={event => decide(event, 'approve', { scope: 'tool' })}>
        for {tool}
      </Button>
      {path && (
        <Button disabled={disabled} onClick={event => decide(event, 'approve', { scope: 'path' })}>
          for {path}
        </Button>
      )}
    </div>
  );
}

function Edit({ approval, store, disabled, decide, back }: FormProps) {
  const field = useFocus<HTMLTextAreaElement>();
  const original = approval.editable?.text ?? '';
  const text = store.draft(approval.id).text ?? toField(original);
  const approve = (event: UIEvent) =>
    decide(event, 'approve', text === toField(original) ? {} : { text: fromField(text, original) });
  const id = useUniqueId();
  return (
    <form class="dn-form" onSubmit={event => event.preventDefault()}>
      <label for={id}>
        <code>{approval.editable?.name}</code> as it will be used
      </label>
      <textarea
        {...OWN_TEXT}
        id={id}
        ref={field}
        rows={Math.min(18, Math.max(4, text.split('\n').length + 1))}
        spellcheck={false}
        value={text}
        onInput={event => store.setDraft(approval.id, { text: event.currentTarget.value })}
        onKeyDown={event => {
          if (event.key === 'Escape') back();
          else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !event.repeat) approve(event);
        }}
      />
      <div class="dn-row">
        <Button kind="primary" disabled={disabled} onClick={approve}>
          Approve edited
        </Button>
        <Button onClick={back}>Back</Button>
        <span class="dn-muted dn-hint">Ctrl+Enter approves, Esc goes back</span>
      </div>
    </form>
  );
}

function Deny({ approval, store, disabled, decide, back }: FormProps) {
  const field = useFocus<HTMLInputElement>();
  const { reason } = store.draft(approval.id);
  const deny = (event: UIEvent) => decide(event, 'deny', { reason: reason.trim() || null });
  const id = useUniqueId();
  return (
    <form class="dn-form" onSubmit={event => event.preventDefault()}>
      <label for={id}>Why not? The agent reads it (optional)</label>
      <div class="dn-row">
        <input
          {...OWN_TEXT}
          id={id}
          ref={field}
          type="text"
          value={reason}
          onInput={event => store.setDraft(approval.id, { reason: event.currentTarget.value })}
          onKeyDown={event => {
            if (event.key === 'Escape') back();
            else if (event.key === 'Enter' && !event.isComposing && !event.repeat) deny(event);
          }}
        />
        <Button kind="danger" disabled={disabled} onClick={deny}>
          Deny
        </Button>
        <Button onClick={back}>Back</Button>
      </div>
    </form>
  );
}

/** The field is ready for typing, and what belongs to it is in sight. */
function useFocus<T extends HTMLElement>() {
  const field = useRef<T>(null);
  useLayoutEffect(() => {
    field.current?.focus({ preventScroll: true });
    field.current?.closest('form')?.scrollIntoView({ block: 'nearest' });
  }, []);
  return field;
}

/** A text field knows only `\n`; a text that had `\r\n` throughout gets it back. */
const toField = (text: string): string => text.replace(/\r\n?/g, '\n');
const fromField = (text: string, original: string): string =>
  /\r\n/.test(original) && !/(?:^|[^\r])\n/.test(original) ? text.replace(/\n/g, '\r\n') : text;
