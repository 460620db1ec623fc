interface Root {
  element: HTMLElement;
  leave: () => void;
  /** What had the focus when it was last inside. */
  focused: HTMLElement | null;
  scrolled: Map<Element, [number, number]>;
}

/**
 * Keeps a panel drawn in every element of the page that has its class, over the static HTML which is in there.
 *
 * The page may make that element anew at any time: each time that the saved output is brought up to date, and when a
 * notebook scrolls cells out of the page and in again. What was drawn moves along, with focus and scroll positions.
 */
export class Places {
  readonly #draw: (element: HTMLElement) => () => void;
  readonly #places: HTMLCollectionOf<Element>;
  readonly #watch: MutationObserver;
  readonly #roots: Root[] = [];

  constructor(name: string, draw: (element: HTMLElement) => () => void) {
    this.#draw = draw;
    this.#places = document.getElementsByClassName(name);
    this.#watch = new MutationObserver(() => this.#settle());
    this.#watch.observe(document.body, { childList: true, subtree: true });
    this.#settle();
  }

  /** Leaves the static HTML. */
  leave(): void {
    this.#watch.disconnect();
    for (const root of this.#roots.splice(0)) {
      const place = root.element.parentElement;
      root.leave();
      root.element.remove();
      for (const child of (place?.children ?? []) as Iterable<HTMLElement>) child.style.display = '';
    }
  }

  #settle(): void {
    for (const place of this.#places) {
      if (this.#roots.some(({ element }) => element.parentElement === place)) continue;
      const root = this.#roots.find(({ element }) => !element.isConnected) ?? this.#make();
      for (const child of place.children as Iterable<HTMLElement>) child.style.display = 'none';
      place.append(root.element);
      restore(root);
    }
  }

  #make(): Root {
    const element = document.createElement('div');
    const root: Root = { element, leave: () => undefined, focused: null, scrolled: new Map() };
    element.addEventListener('focusin', ({ target }) => {
      root.focused = target as HTMLElement;
    });
    element.addEventListener('focusout', () => {
      // The focus leaves before its element is taken out of the page; only afterwards can one tell why it left.
      queueMicrotask(() => {
        if (element.isConnected && !element.contains(document.activeElement)) root.focused = null;
      });
    });
    element.addEventListener(
      'scroll',
      ({ target }) => {
        if (target instanceof Element && element.isConnected) {
          root.scrolled.set(target, [target.scrollLeft, target.scrollTop]);
        }
      },
      true,
    );
    root.leave = this.#draw(element);
    this.#roots.push(root);
    return root;
  }
}

function restore({ element, focused, scrolled }: Root): void {
  for (const [target, [left, top]] of scrolled) {
    if (element.contains(target)) target.scrollTo({ left, top, behavior: 'instant' });
    else scrolled.delete(target);
  }
  if (focused && element.contains(focused)) focused.focus({ preventScroll: true });
}
