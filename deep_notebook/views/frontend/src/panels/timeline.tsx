import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { ChangedFile } from '../protocol';
import { Button, Counts, Diff, Section, Toggle, useFold, Words } from '../view/parts';
import * as shared from '../words';
import type { Timeline, TimelinePoint } from './protocol';
import { Question } from './question';
import type { PanelStore } from './store';
import * as words from './words';

const POINTS_SHOWN = 30;

interface Props {
  store: PanelStore;
  state: Timeline;
  children: ComponentChildren;
}

/** A line of checkpoints, the newest first; a click on one asks what going back would do. */
export function TimelineView({ store, state: { points, ask, undo }, children }: Props) {
  const [all, setAll] = useState(false);
  const newest = [...points].reverse();
  const shown = all ? newest : newest.slice(0, POINTS_SHOWN);
  const question = ask && <Question key={ask.id} question={ask} store={store} />;
  return (
    <>
      <div class="dn-bar">
        <span class="dn-state">{words.timeline(points.length)}</span>
      </div>
      {children}
      {undo && (
        <Section label="What can be undone" kind="said">
          <div class="dn-row">
            <span>
              <Words text={undo} />
            </span>
            <Button onClick={() => store.act({ do: 'undo' })}>Undo</Button>
          </div>
        </Section>
      )}
      {ask && !shown.some(({ id }) => id === ask.id) && question}
      <Section label="Checkpoints, the newest first" kind="points">
        {points.length === 0 && <Words text={words.NO_CHECKPOINTS} />}
        <ol>
          {shown.map(point => (
            <Point key={point.id} {...{ point, store }}>
              {ask?.id === point.id && question}
            </Point>
          ))}
        </ol>
        {shown.length < newest.length && (
          <Button kind="quiet" onClick={() => setAll(true)}>
            Show {String(newest.length - shown.length)} earlier ones
          </Button>
        )}
      </Section>
    </>
  );
}

interface PointProps {
  point: TimelinePoint;
  store: PanelStore;
  children: ComponentChildren;
}

function Point({ point, store, children }: PointProps) {
  const fold = useFold(false);
  const { id, label, files, automatic, here, at } = point;
  return (
    <li class={`dn-point ${automatic ? '' : 'dn-named'} ${here ? 'dn-here' : ''}`}>
      <div class="dn-head">
        <div class="dn-words">
          <span class="dn-label">{label}</span>
          {here && <span class="dn-tag">you are here</span>}
          <span class="dn-meta">
            {words.point(point)} · <time dateTime={new Date(at * 1000).toISOString()}>{words.when(at)}</time>
          </span>
        </div>
        {!children && (
          <Button kind="quiet" label={`Go back to ${label}`} onClick={() => store.act({ do: 'ask', id })}>
            Go back…
          </Button>
        )}
      </div>
      {files.length > 0 && (
        <div class="dn-row dn-what-changed">
          <Toggle {...fold}>
            {shared.files(files.length)} <Counts files={files} />
          </Toggle>
          <span class="dn-names" aria-hidden="true">
            {files.map(file => (
              <span key={file.path}>
                <code>{file.path}</code> <Counts files={[file]} />
              </span>
            ))}
          </span>
        </div>
      )}
      {fold.open && files.map(file => <Change key={file.path} file={file} />)}
      {children}
    </li>
  );
}

function Change({ file }: { file: ChangedFile }) {
  return (
    <div class="dn-change">
      <div class="dn-row">
        <code>{file.path}</code>
        <Counts files={[file]} />
      </div>
      {file.diff && <Diff diff={file.diff} label={`Change of ${file.path}`} />}
    </div>
  );
}
