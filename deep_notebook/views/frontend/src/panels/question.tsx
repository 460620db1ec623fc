import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { revealed } from '../plain';
import { Button, Counts, Diff, OWN_KEYS, Toggle, useFold, useUniqueId, Words } from '../view/parts';
import type { Part, PlannedFile, RewindQuestion } from './protocol';
import type { PanelStore } from './store';
import * as words from './words';

const PARTS: Record<Part, string> = { conversation: 'Conversation', files: 'Files', todos: 'Todos' };
const ALL = Object.keys(PARTS) as Part[];

interface Props {
  question: RewindQuestion;
  store: PanelStore;
}

/** What going back would do, which parts of it the person wants, and yes or no. */
export function Question({ question, store }: Props) {
  const { id, files, gaps } = question;
  const [parts, setParts] = useState<Part[]>(ALL);
  const [mine, setMine] = useState(false);
  const card = useRef<HTMLElement>(null);
  const titleId = useUniqueId();
  useLayoutEffect(() => {
    card.current?.focus({ preventScroll: true });
    card.current?.scrollIntoView({ block: 'nearest' });
  }, []);
  const yours = files.filter(file => file.yours && file.possible);
  const toggle = (part: Part) => setParts(ALL.filter(it => (it === part) !== parts.includes(it)));
  const cancel = () => store.act({ do: 'cancel' });
  const variables = words.variables(question);
  return (
    <article
      class="dn-section dn-asks dn-ask"
      ref={card}
      tabIndex={-1}
      aria-labelledby={titleId}
      onKeyDown={event => event.key === 'Escape' && cancel()}
    >
      <div class="dn-row">
        <span class="dn-title" id={titleId}>
          {words.question({ label: revealed(question.label) })}
        </span>
        <span class="dn-muted">{words.goingBack(question)}</span>
      </div>
      <fieldset class="dn-row">
        <legend class="dn-unseen">What goes back</legend>
        {ALL.map(part => (
          <Check key={part} checked={parts.includes(part)} onToggle={() => toggle(part)}>
            {PARTS[part]}
          </Check>
        ))}
      </fieldset>
      {files.length > 0 && (
        <ul class={`dn-planned ${parts.includes('files') ? '' : 'dn-left'}`} aria-label="Files">
          {files.map(file => (
            <Planned key={file.path} file={file} />
          ))}
        </ul>
      )}
      {yours.length > 0 && parts.includes('files') && (
        <Check checked={mine} onToggle={() => setMine(!mine)}>
          {yours.length === 1
            ? 'Also take back the file that was changed since'
            : `Also take back the ${yours.length} files that were changed since`}
        </Check>
      )}
      {gaps.map((gap, index) => (
        <p key={index} class="dn-gap">
          <Words text={revealed(gap)} />
        </p>
      ))}
      {variables && <p class="dn-muted">{variables}</p>}
      <div class="dn-row">
        <Button
          kind="primary"
          unavailable={!parts.length}
          onClick={event => event.detail < 2 && store.act({ do: 'rewind', id, parts, mine })}
        >
          Go back
        </Button>
        <Button onClick={cancel}>Cancel</Button>
      </div>
    </article>
  );
}

function Planned({ file }: { file: PlannedFile }) {
  const fold = useFold(false);
  const { path, diff, yours, possible } = file;
  return (
    <li>
      <div class="dn-row">
        <code>{revealed(path)}</code>
        <Counts files={[file]} />
        <span class={yours || !possible ? 'dn-warns' : 'dn-muted'}>{words.planned(file)}</span>
        {diff && <Toggle {...fold}>{fold.open ? 'Hide diff' : 'View diff'}</Toggle>}
      </div>
      {fold.open && <Diff diff={revealed(diff)} label={`Change of ${path}`} />}
    </li>
  );
}

interface CheckProps {
  checked: boolean;
  onToggle: () => void;
  children: string;
}

function Check({ checked, onToggle, children }: CheckProps) {
  return (
    <label class="dn-check">
      <input type="checkbox" checked={checked} onChange={onToggle} {...OWN_KEYS} />
      {children}
    </label>
  );
}
