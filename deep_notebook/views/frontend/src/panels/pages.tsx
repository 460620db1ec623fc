import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { plain } from '../plain';
import { Button, Section } from '../view/parts';
import type { Pages } from './protocol';
import type { PanelStore } from './store';
import * as words from './words';

interface Props {
  store: PanelStore;
  state: Pages;
  children: ComponentChildren;
}

/** One page of a long text, and the way to the others. */
export function PagesView({ store, state, children }: Props) {
  const { title, path, page, pages, text } = state;
  const turn = (to: number) => () => store.act({ do: 'page', page: to });
  const sheet = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (sheet.current) sheet.current.scrollTop = sheet.current.scrollLeft = 0;
  }, [page]);
  return (
    <>
      <div class="dn-bar">
        <span class="dn-state">{title || 'Text'}</span>
        <code class="dn-muted">{path}</code>
      </div>
      {children}
      <Section label="Pages" kind="pages">
        <div class="dn-output dn-page dn-scroll" ref={sheet} role="group" tabIndex={0} aria-label={`Page ${page}`}>
          {plain(text)}
        </div>
        <nav class="dn-row" aria-label="Pages">
          <Button unavailable={page <= 1} label="First page" onClick={turn(1)}>
            « First
          </Button>
          <Button unavailable={page <= 1} label="Previous page" onClick={turn(page - 1)}>
            ‹ Previous
          </Button>
          <span class="dn-meta">{words.page(state)}</span>
          <Button unavailable={page >= pages} label="Next page" onClick={turn(page + 1)}>
            Next ›
          </Button>
          <Button unavailable={page >= pages} label="Last page" onClick={turn(pages)}>
            Last »
          </Button>
        </nav>
      </Section>
    </>
  );
}
