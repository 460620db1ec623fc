import type { ComponentChildren } from 'preact';
import { revealed } from '../plain';
import { Button, Counts, Diff, Section, Toggle, useFold, Words } from '../view/parts';
import type { ChangeSet, Hunk, ReviewFile } from './protocol';
import type { PanelStore } from './store';
import * as words from './words';

interface Props {
  store: PanelStore;
  state: ChangeSet;
  children: ComponentChildren;
}

/** What one run changed, to keep or to undo as a whole, by file, or by place. */
export function ReviewView({ store, state, children }: Props) {
  const { files, gaps } = state;
  return (
    <>
      <div class="dn-bar">
        <span class="dn-state">{words.reviewed(state)}</span>
        <Counts files={files} />
        <Answers store={store} states={files.flatMap(statesOf)} all />
      </div>
      {children}
      {files.length === 0 && (
        <Section label="Files" kind="notice">
          {words.NOTHING_CHANGED}
        </Section>
      )}
      {files.map(file => (
        <File key={file.path} {...{ file, store }} />
      ))}
      {gaps.length > 0 && (
        <Section label="What is not covered" kind="notice">
          {gaps.map((gap, index) => (
            <p key={index} class="dn-gap">
              <Words text={revealed(gap)} />
            </p>
          ))}
        </Section>
      )}
    </>
  );
}

function File({ file, store }: { file: ReviewFile; store: PanelStore }) {
  const { path, state, hunks } = file;
  const fold = useFold(state === 'open' || state === 'mixed');
  const said = words.review(file);
  return (
    <Section label={path} kind="file">
      <div class="dn-row">
        {hunks.length > 0 ? (
          <Toggle {...fold}>
            <code>{revealed(path)}</code>
          </Toggle>
        ) : (
          <code class="dn-alone">{revealed(path)}</code>
        )}
        <Counts files={[file]} />
        {said && <span class={`dn-muted dn-${state}`}>{said}</span>}
        <Answers store={store} states={statesOf(file)} file={file} />
      </div>
      {fold.open && hunks.map((hunk, index) => <Place key={hunk.id} {...{ hunk, index, file, store }} />)}
    </Section>
  );
}

/** How each place of a file stands; a file without places is one. */
function statesOf({ state, hunks }: ReviewFile): Hunk['state'][] {
  if (hunks.length) return hunks.map(hunk => hunk.state);
  return [state === 'mixed' ? 'open' : state];
}

interface PlaceProps {
  hunk: Hunk;
  index: number;
  file: ReviewFile;
  store: PanelStore;
}

function Place({ hunk, index, file, store }: PlaceProps) {
  const { path, hunks } = file;
  const title = `Change ${index + 1} of ${hunks.length}`;
  return (
    <div class={`dn-hunk-of dn-${hunk.state}`}>
      {hunks.length > 1 && (
        <div class="dn-row">
          <span class="dn-muted">{hunk.state === 'open' ? title : `${title} · ${hunk.state}`}</span>
          <Answers
            store={store}
            states={[hunk.state]}
            file={file}
            hunk={hunk.id}
            what={`change ${index + 1} of ${path}`}
          />
        </div>
      )}
      <Diff diff={revealed(`${hunk.header}\n${hunk.text}`)} label={`${title} of ${path}`} />
    </div>
  );
}

interface AnswersProps {
  store: PanelStore;
  states: Hunk['state'][];
  file?: ReviewFile;
  hunk?: string;
  what?: string;
  all?: boolean;
}

/** The buttons for what has not been answered, and for changing one's mind. */
function Answers({ store, states, file, hunk, what = file?.path, all = false }: AnswersProps) {
  const send = (verb: 'keep' | 'undo') => (event: MouseEvent) => {
    if (event.detail < 2) store.act({ do: verb, path: file?.path ?? null, hunk: hunk ?? null });
  };
  const open = states.includes('open');
  const undoable = open || states.includes('kept');
  const returnable = !open && !all && states.includes('undone');
  const kind = all || hunk === undefined ? 'plain' : 'quiet';
  const again = file?.action === 'delete' ? 'Delete again' : 'Put back';
  return (
    <span class="dn-answers">
      {open && (
        <Button kind={kind} label={all ? undefined : `Keep ${what}`} onClick={send('keep')}>
          {all ? 'Keep all' : 'Keep'}
        </Button>
      )}
      {returnable && (
        <Button kind={kind} label={`${again}: ${what}`} onClick={send('keep')}>
          {again}
        </Button>
      )}
      {undoable && (
        <Button kind={kind} label={all ? undefined : `Undo ${what}`} onClick={send('undo')}>
          {all ? 'Undo all' : 'Undo'}
        </Button>
      )}
    </span>
  );
}
