import { useEffect, useReducer, useRef } from 'preact/hooks';
import { type ChangedFile, isLive, type RunState, type Step } from '../protocol';
import type { RunStore } from '../store';
import type { Typesetter } from '../typeset';
import * as words from '../words';
import { ApprovalCard } from './approval';
import { Plan } from './below';
import { Markdown } from './markdown';
import {
  Announcer,
  Button,
  Counts,
  Diff,
  type Fold,
  keepTypingHere,
  Section,
  sum,
  Toggle,
  useFold,
  Words,
} from './parts';
import { QuestionCard } from './question';
import { Log } from './work';

interface Props {
  store: RunStore;
  typesetter: Typesetter | null;
}

export function RunView({ store, typesetter }: Props) {
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    redraw(0);
    return store.subscribe(() => redraw(0));
  }, [store]);
  const { state } = store;
  if (!state) return <div class="dn-run dn-empty">{store.canAct ? 'Starting…' : 'Not connected to the kernel'}</div>;
  return (
    <div
      class={`dn-run deep-run-${state.run}`}
      role="group"
      aria-label={`deep run ${state.run}`}
      tabIndex={-1}
      onKeyDown={keepTypingHere}
    >
      <Header store={store} state={state} />
      {state.banner && <div class="dn-banner">{state.banner}</div>}
      <Body {...{ store, state, typesetter }} />
      <Announcer text={store.announced} />
    </div>
  );
}

function Header({ store, state }: { store: RunStore; state: RunState }) {
  const live = isLive(state.phase);
  useTick(live && store.connection === 'live');
  const cut = live && store.connection === 'lost';
  const meta = words.meta(state, store.elapsed());
  if (live && store.connection === 'silent') meta.push('no answer from the kernel');
  return (
    <div class="dn-bar">
      <span class={`dn-dot dn-${cut ? 'lost' : state.phase}`} aria-hidden="true" />
      <span class="dn-state">{cut ? 'Not connected to the kernel' : words.phase(state)}</span>
      <span class="dn-meta">
        {meta.map((part, index) => (
          <>
            {index > 0 && ' '}
            <span key={index}>{index < meta.length - 1 ? `${part} ·` : part}</span>
          </>
        ))}
      </span>
      <span class="dn-grow" />
      {live && !cut && (
        <Button disabled={store.stopping} onClick={() => store.stop()}>
          {store.stopping ? 'Stopping…' : 'Stop'}
        </Button>
      )}
    </div>
  );
}

/** While the run goes on: plan, work, question, answer. Once it is done: the answer first, the work folded away. */
function Body({ store, state, typesetter }: Props & { state: RunState }) {
  const done = state.phase === 'done';
  const answer = state.answer && (
    <Section key="answer" label="Answer" kind="answer">
      <Markdown text={state.answer} typesetter={typesetter} growing={isLive(state.phase)} />
    </Section>
  );
  return (
    <>
      {done && answer}
      <Progress key="progress" state={state} typesetter={typesetter} folded={done} />
      <Questions key="questions" store={store} state={state} />
      {!done && answer}
      {isLive(state.phase) && !store.canAct && (
        <Section key="lost" label="Notice" kind="notice">
          <Words text={`This is the last that was heard of it. \`%deep show ${state.run}\` draws what is stored.`} />
        </Section>
      )}
      {state.error && (
        <Section key="error" label="Error" kind="error">
          <Words text={state.error} />
        </Section>
      )}
      {state.notice && (
        <Section key="notice" label="Notice" kind="notice">
          <Words text={state.notice} />
        </Section>
      )}
    </>
  );
}

interface ProgressProps {
  state: RunState;
  typesetter: Typesetter | null;
  folded: boolean;
}

function Progress({ state, typesetter, folded }: ProgressProps) {
  const plan = useFold(!folded);
  const work = useFold(!folded);
  const diffs = useFold(false);
  const { todos, steps, thinking, files } = state;
  const completed = todos.filter(({ status }) => status === 'completed').length;
  const parts = [
    todos.length > 0 && {
      kind: 'plan',
      toggle: <Toggle {...plan}>{words.plan(completed, todos.length)}</Toggle>,
      body: plan.open && <Plan todos={todos} />,
    },
    (steps.length > 0 || thinking !== '') && {
      kind: 'work',
      toggle: <Toggle {...work}>{workTitle(steps)}</Toggle>,
      body: work.open && <Log {...{ state, typesetter }} />,
    },
    files.length > 0 && {
      kind: 'changes',
      toggle: <FilesToggle files={files} fold={diffs} />,
      body: diffs.open && <Diffs files={files} />,
    },
  ].filter(part => part !== false);
  if (!folded) {
    return (
      <>
        {parts.map(({ kind, toggle, body }) => (
          <Section key={kind} label={kind} kind={kind}>
            {toggle}
            {body}
          </Section>
        ))}
      </>
    );
  }
  if (!parts.length) return null;
  return (
    <Section label="plan, work and changes" kind="folded">
      <div class="dn-row">{parts.map(({ toggle }) => toggle)}</div>
      {parts.map(({ body }) => body)}
    </Section>
  );
}

function workTitle(steps: Step[]): string {
  const tools = steps.filter(step => step.kind === 'tool');
  const times = tools.map(({ seconds }) => seconds).filter(seconds => seconds !== null);
  return words.work(tools.length, times.length ? sum(times) : null);
}

function FilesToggle({ files, fold }: { files: ChangedFile[]; fold: Fold }) {
  const paths = files.map(({ path }) => path).join(', ');
  return (
    <div class="dn-row dn-files">
      <span class="dn-muted" title={paths}>
        {words.files(files.length)}
      </span>
      <Counts files={files} />
      <Button kind="quiet" expanded={fold.open} onClick={fold.onToggle}>
        {fold.open ? 'Hide diff' : 'View diff'}
      </Button>
    </div>
  );
}

function Diffs({ files }: { files: ChangedFile[] }) {
  return (
    <>
      {files.map(file => (
        <div key={file.path}>
          <div class="dn-row">
            <code>{file.path}</code>
            <Counts files={[file]} />
          </div>
          {file.diff && <Diff diff={file.diff} label={`Change of ${file.path}`} />}
        </div>
      ))}
    </>
  );
}

function Questions({ store, state }: { store: RunStore; state: RunState }) {
  const open = isLive(state.phase) ? ['pending', 'superseded'] : ['suspended'];
  const approvals = state.approvals.filter(approval => open.includes(approval.state));
  const questions = state.questions.filter(question => open.includes(question.state));
  const count = approvals.length + questions.length;
  if (!count) return null;
  return (
    <Section label={count > 1 ? `${count} questions for you` : 'A question for you'} kind="asks">
      {count > 1 && <div class="dn-heading">{count} questions, each with its own answer</div>}
      {approvals.map(approval => (
        <ApprovalCard key={approval.id} approval={approval} store={store} />
      ))}
      {questions.map(question => (
        <QuestionCard key={question.id} question={question} store={store} />
      ))}
    </Section>
  );
}

function useTick(running: boolean): void {
  const [, tick] = useReducer((n: number) => n + 1, 0);
  const redraw = useRef(() => tick(0));
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(redraw.current, 1000);
    return () => clearInterval(timer);
  }, [running]);
}
