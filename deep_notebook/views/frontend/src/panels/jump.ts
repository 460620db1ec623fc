const GLOW = [{ outline: '3px solid currentColor', outlineOffset: '2px' }, { outline: '3px solid transparent' }];

/** Scrolls to a run's output, if a cell of this page shows it, and returns whether one does. */
export function goToRun(run: number): boolean {
  const found = [...document.querySelectorAll<HTMLElement>(`.deep-run-${run}`)].find(
    element => !element.closest('.dn-panel') && element.getClientRects().length > 0,
  );
  if (!found) return false;
  found.tabIndex = -1;
  found.focus({ preventScroll: true });
  found.scrollIntoView({ block: 'start' });
  found.animate?.(GLOW, { duration: 1600, easing: 'ease-in' });
  return true;
}
