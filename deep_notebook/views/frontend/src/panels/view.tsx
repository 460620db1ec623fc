import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useLayoutEffect, useReducer, useRef } from 'preact/hooks';
import { Announcer, keepTypingHere, Section, Words } from '../view/parts';
import { PagesView } from './pages';
import type { Panel } from './protocol';
import { ReviewView } from './review';
import { SearchView } from './search';
import type { PanelStore } from './store';
import { TimelineView } from './timeline';
import * as words from './words';

const LABELS: Record<Panel['kind'], string> = {
  timeline: 'Checkpoints',
  changes: 'Changes to review',
  search: 'Search in the conversation',
  pages: 'Long text',
};

export function PanelView({ store }: { store: PanelStore }) {
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  useEffect(() => store.subscribe(() => redraw(0)), [store]);
  const root = useRef<HTMLDivElement>(null);
  const keepingFocus = useKeptFocus(root);
  if (!store.snapshot) return null;
  const { state, unsaved } = store.snapshot;
  return (
    <div
      class={`dn-run dn-panel ${store.busy ? 'dn-busy' : ''}`}
      ref={root}
      role="group"
      aria-label={LABELS[state.kind]}
      aria-busy={store.busy}
      tabIndex={-1}
      onKeyDown={keepTypingHere}
      {...keepingFocus}
    >
      <Kind store={store} state={state}>
        {state.notice && (
          <Section label="Notice" kind="said">
            <Words text={state.notice} />
          </Section>
        )}
        {store.late && (
          <Section label="Notice" kind="said">
            The kernel is busy: this is done as soon as it is free.
          </Section>
        )}
      </Kind>
      {unsaved && (
        <Section label="Notice" kind="notice">
          <Words text={words.unsaved(state)} />
        </Section>
      )}
      <Announcer text={store.announced} />
    </div>
  );
}

interface KindProps {
  store: PanelStore;
  state: Panel;
  /** What is said below the heading. */
  children: ComponentChildren;
}

function Kind({ store, state, children }: KindProps) {
  switch (state.kind) {
    case 'timeline':
      return <TimelineView {...{ store, state }}>{children}</TimelineView>;
    case 'changes':
      return <ReviewView {...{ store, state }}>{children}</ReviewView>;
    case 'search':
      return <SearchView {...{ store, state }}>{children}</SearchView>;
    case 'pages':
      return <PagesView {...{ store, state }}>{children}</PagesView>;
  }
}

/** The keyboard's place is not lost: when a control goes away that had the focus, what was around it has it. */
function useKeptFocus(root: RefObject<HTMLDivElement | null>) {
  const inside = useRef(false);
  const around = useRef<HTMLElement[]>([]);
  const isInside = () => !!root.current?.contains(document.activeElement);
  useLayoutEffect(() => {
    if (document.activeElement !== document.body) inside.current = isInside();
    else if (inside.current) {
      const place = around.current.find(element => root.current?.contains(element)) ?? root.current;
      place?.setAttribute('tabindex', '-1');
      place?.focus({ preventScroll: true });
    }
  });
  return {
    onFocusIn: ({ target }: FocusEvent) => {
      inside.current = true;
      around.current = ancestors(target as HTMLElement);
    },
    onFocusOut: ({ target }: FocusEvent) =>
      queueMicrotask(() => {
        if ((target as Node).isConnected) inside.current = isInside();
      }),
  };
}

/** What an element lies in, from the inside out. */
function ancestors({ parentElement }: HTMLElement): HTMLElement[] {
  return parentElement ? [parentElement, ...ancestors(parentElement)] : [];
}
