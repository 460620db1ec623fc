/** Milliseconds that a page gets to put the final output in the run's place. */
const SETTLING = 500;
/** Pixels of an output that are too little to call it visible. */
const GLIMPSE = 40;

/**
 * Keeps a run in sight when it shrinks: a question that was answered goes, and what is left at the end is shorter
 * than the run was, so that a page which was scrolled into it would show nothing of it. Nothing moves for who was
 * not looking, or is writing elsewhere.
 */
export function stayInSight(el: HTMLElement): () => void {
  if (!('ResizeObserver' in globalThis)) return () => undefined;
  let place: HTMLElement | null = null;
  let height = 0;
  const watch = new ResizeObserver(() => {
    if (!place) {
      place = el.closest<HTMLElement>('.jp-OutputArea');
      if (place) watch.observe(place);
    }
    if (!place) return;
    const before = height;
    height = place.offsetHeight;
    if (height > 0 && height < before) bringBack(place, before);
  });
  watch.observe(el);
  return () => void setTimeout(() => watch.disconnect(), SETTLING);
}

function bringBack(place: HTMLElement, heightBefore: number): void {
  const frame = scrollerOf(place).getBoundingClientRect();
  const { top, bottom, height } = place.getBoundingClientRect();
  const wasSeen = top + heightBefore > frame.top && top < frame.bottom;
  const isCut = top < frame.top && (bottom < frame.top + GLIMPSE || height < frame.height);
  if (wasSeen && isCut && !isWritingOutside(place)) place.scrollIntoView({ block: 'nearest' });
}

function isWritingOutside(place: HTMLElement): boolean {
  const active = document.activeElement;
  return !!active?.matches('input, textarea, [contenteditable=true]') && !place.contains(active);
}

function scrollerOf(element: HTMLElement): Element {
  for (let outer = element.parentElement; outer; outer = outer.parentElement) {
    if (/auto|scroll/.test(getComputedStyle(outer).overflowY)) return outer;
  }
  return document.documentElement;
}
