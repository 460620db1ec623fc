import type { HostModel } from './protocol';

/** Typesets the math inside one element. */
export type Typesetter = (element: HTMLElement) => void;

/** Commands with which a formula could do more than show itself. */
const NOT_JUST_MATH = /\\(?:href|url|html|class|cssId|style|data|require|includegraphics|unicode|mmlToken|bbox)\b/;

interface LabManager {
  rendermime?: { latexTypesetter?: { typeset(element: HTMLElement): unknown } | null };
}

interface MathJaxPage {
  MathJax?: { typesetPromise?: (elements: HTMLElement[]) => Promise<unknown> };
}

/** Finds what the page itself typesets with: JupyterLab's typesetter, else a MathJax; `null` leaves math as written. */
export function findTypesetter(model: HostModel): Typesetter | null {
  const lab = (model.widget_manager as LabManager | undefined)?.rendermime?.latexTypesetter;
  if (lab) return element => void lab.typeset(element);
  const typeset = (globalThis as MathJaxPage).MathJax?.typesetPromise;
  if (!typeset) return null;
  return element => void typeset([element]).catch((error: unknown) => console.warn('deep_notebook: math', error));
}

export function typesetIn(element: HTMLElement, typesetter: Typesetter | null): void {
  if (!typesetter) return;
  for (const math of element.querySelectorAll<HTMLElement>('.dn-math')) {
    if (!NOT_JUST_MATH.test(math.textContent ?? '')) typesetter(math);
  }
}
