import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { SafeHtml } from '../markdown';
import { type Typesetter, typesetIn } from '../typeset';

/** The only place where HTML enters the page, and only sanitised HTML does. */
export function Html({ html, typesetter = null }: { html: SafeHtml; typesetter?: Typesetter | null }) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (!element.current) return;
    element.current.innerHTML = html;
    for (const pre of element.current.querySelectorAll('pre')) makeScrollable(pre);
    for (const table of element.current.querySelectorAll('table')) makeScrollable(table);
  }, [html]);
  useEffect(() => {
    if (element.current) typesetIn(element.current, typesetter);
  }, [html, typesetter]);
  return <div ref={element} />;
}

/** What may be wider than the page can be reached by keyboard. */
function makeScrollable(element: HTMLElement): void {
  const frame = document.createElement('div');
  frame.className = 'dn-scroll';
  frame.tabIndex = 0;
  frame.setAttribute('role', 'group');
  frame.setAttribute('aria-label', element.tagName === 'PRE' ? 'Code' : 'Table');
  element.replaceWith(frame);
  frame.append(element);
}
