import DOMPurify from 'dompurify';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { SafeHtml } from '../markdown';
import { plain } from '../plain';
import { Html } from '../view/html';
import { Button, OWN_TEXT, Section, useUniqueId } from '../view/parts';
import { goToRun } from './jump';
import type { Hit, Search } from './protocol';
import type { PanelStore } from './store';
import * as words from './words';

const purifier = DOMPurify();

interface Props {
  store: PanelStore;
  state: Search;
  children: ComponentChildren;
}

/** A box to search the conversation with, and what was found. */
export function SearchView({ store, state, children }: Props) {
  const [query, setQuery] = useState(state.query);
  const [asked, setAsked] = useState<number | null>(null);
  const id = useUniqueId();
  const show = (run: number) => {
    if (goToRun(run)) return;
    setAsked(run);
    store.act({ do: 'show', run });
  };
  return (
    <>
      <form
        class="dn-bar dn-form"
        role="search"
        onSubmit={event => {
          event.preventDefault();
          setAsked(null);
          store.act({ do: 'search', query });
        }}
      >
        <label class="dn-state" for={id}>
          Search
        </label>
        <input
          {...OWN_TEXT}
          id={id}
          type="search"
          placeholder="words of anything that was said or done here"
          value={query}
          onInput={event => setQuery(event.currentTarget.value)}
          onKeyDown={event => event.key === 'Enter' && event.isComposing && event.preventDefault()}
        />
        <Button
          onClick={event =>
            event.currentTarget instanceof HTMLElement && event.currentTarget.closest('form')?.requestSubmit()
          }
        >
          Search
        </Button>
      </form>
      {children}
      {state.query.trim() && (
        <Section label="Found" kind="found">
          <div class="dn-muted">{words.searched(state)}</div>
          <ol>
            {state.hits.map((hit, index) => (
              <Found key={index} hit={hit} show={show} />
            ))}
          </ol>
        </Section>
      )}
      {state.shown && <Shown key={state.shown} html={state.shown} run={asked} />}
    </>
  );
}

function Found({ hit, show }: { hit: Hit; show: (run: number) => void }) {
  const { run, at, before, after } = hit;
  return (
    <li>
      <div class="dn-row">
        <span class="dn-meta">
          {words.hit(hit)}
          {at !== null && ` · ${words.when(at)}`}
        </span>
        <span class="dn-grow" />
        {run !== null && (
          <Button kind="quiet" onClick={() => show(run)}>
            Go to run {String(run)}
          </Button>
        )}
      </div>
      <div class="dn-output dn-snippet">
        {before.map((line, index) => (
          <div key={index} class="dn-muted">
            {plain(line)}
          </div>
        ))}
        <div>
          <Marked {...hit} />
        </div>
        {after.map((line, index) => (
          <div key={index} class="dn-muted">
            {plain(line)}
          </div>
        ))}
      </div>
    </li>
  );
}

/** Python counts characters where JavaScript counts halves of some. */
function Marked({ snippet, matches }: Pick<Hit, 'snippet' | 'matches'>) {
  const characters = [...snippet];
  const part = (start: number, end?: number) => plain(characters.slice(start, end).join(''));
  return (
    <>
      {matches.map(([start, end], index) => (
        <>
          {part(matches[index - 1]?.[1] ?? 0, start)}
          <mark>{part(start, end)}</mark>
        </>
      ))}
      {part(matches.at(-1)?.[1] ?? 0)}
    </>
  );
}

/** A run that is not on this page. */
function Shown({ html, run }: { html: string; run: number | null }) {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => place.current?.scrollIntoView({ block: 'nearest' }), []);
  const safe = useMemo(() => purifier.sanitize(html) as SafeHtml, [html]);
  return (
    <Section label={run === null ? 'A run' : `Run ${run}`} kind="shown">
      <div class="dn-heading">{run === null ? 'The run' : `Run ${run}`}, which is not in this notebook's cells</div>
      <div ref={place}>
        <Html html={safe} />
      </div>
    </Section>
  );
}
