import { isLive } from './protocol';
import type { RunStore } from './store';

/** Milliseconds that a page gets to put the final output in the run's place. */
const SETTLING = 250;

/**
 * Keeps the run in sight when it ends. What is left of it is shorter than it was, so that a page which was scrolled
 * into it would show nothing of it. Nothing moves under who was not looking, or is writing elsewhere.
 */
export function stayInSight(store: RunStore, el: HTMLElement): () => void {
  if (!('IntersectionObserver' in globalThis)) return () => undefined;
  let seen = false;
  let live = false;
  const eye = new IntersectionObserver(entries => {
    seen = entries.at(-1)?.isIntersecting ?? false;
  });
  eye.observe(el);
  const unsubscribe = store.subscribe(() => {
    const was = live;
    live = store.state !== null && isLive(store.state.phase);
    const place = el.closest<HTMLElement>('.jp-OutputArea');
    if (was && !live && seen && place) setTimeout(() => bringBack(place), SETTLING);
  });
  return () => {
    eye.disconnect();
    unsubscribe();
  };
}

function bringBack(place: HTMLElement): void {
  const writing = document.activeElement?.matches('input, textarea, [contenteditable=true]');
  if (writing && !place.contains(document.activeElement)) return;
  const eye = new IntersectionObserver(entries => {
    eye.disconnect();
    const entry = entries.at(-1);
    if (!entry) return;
    const cut = entry.intersectionRect.top > entry.boundingClientRect.top + 1;
    const fits = entry.boundingClientRect.height < window.innerHeight * 0.8;
    if (!entry.isIntersecting || (cut && fits)) place.scrollIntoView({ block: 'nearest' });
  });
  eye.observe(place);
}
