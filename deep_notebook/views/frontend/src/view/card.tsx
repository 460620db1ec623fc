import type { ComponentChildren, RefObject } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import type { RunStore } from '../store';
import { Button } from './parts';

interface Props {
  id: string;
  store: RunStore;
  card: RefObject<HTMLElement | null>;
  titleId: string;
  children: ComponentChildren;
}

/** What one approval or question stands on, with a way to send an answer again that the kernel has not taken. */
export function Card({ id, store, card, titleId, children }: Props) {
  // Leaving must not drop the keyboard's place: a control that is gone hands the focus to the run.
  useLayoutEffect(() => {
    const run = card.current?.closest<HTMLElement>('.dn-run');
    const element = card.current;
    return () => {
      if (element?.contains(document.activeElement)) run?.focus({ preventScroll: true });
    };
  }, []);
  return (
    <article class="dn-ask" ref={card} tabIndex={-1} aria-labelledby={titleId}>
      {children}
      {store.sent(id)?.late && (
        <div class="dn-row dn-late">
          <span>The kernel has not taken the answer yet.</span>
          <Button onClick={() => store.sendAgain(id)}>Send again</Button>
        </div>
      )}
    </article>
  );
}
