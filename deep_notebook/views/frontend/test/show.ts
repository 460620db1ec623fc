import assert from 'node:assert/strict';
import { afterEach } from 'node:test';
import { act } from 'preact/test-utils';
import { FakeModel } from '../dev/model';
import widget from '../src/index';
import type { RunState } from '../src/protocol';

/** What has to be undone after each test. */
export const closing: (() => void)[] = [];
afterEach(async () => {
  await act(() => {
    for (const close of closing.splice(0)) close();
  });
  document.body.replaceChildren();
});

export interface Shown {
  model: FakeModel;
  el: HTMLElement;
  /** The text as it is read, without what is only for the ear. */
  text(): string;
  button(name: string, index?: number): HTMLButtonElement;
  click(name: string, index?: number, detail?: number): Promise<void>;
  type(selector: string, text: string): Promise<void>;
  key(selector: string, init: KeyboardEventInit): Promise<KeyboardEvent>;
}

/** Draws the widget for `state`, with a kernel that answers unless it is not `alive`. */
export async function show(state: RunState, { alive = true, views = 1 } = {}): Promise<Shown> {
  const model = new FakeModel(state, alive);
  const { initialize, render } = widget();
  closing.push(initialize({ model }));
  const els = Array.from({ length: views }, () => document.body.appendChild(document.createElement('div')));
  await act(() => {
    for (const el of els) closing.push(render({ model, el }));
  });
  const el = els[0] as HTMLElement;
  const buttons = (name: string) =>
    [...el.querySelectorAll('button')].filter(({ textContent }) => textContent?.trim() === name);
  const find = <T extends HTMLElement>(selector: string): T => {
    const found = el.querySelector<T>(selector);
    assert.ok(found, `${selector} is not there`);
    return found;
  };
  const shown: Shown = {
    model,
    el,
    text() {
      const copy = el.cloneNode(true) as HTMLElement;
      for (const unseen of copy.querySelectorAll('.dn-unseen')) unseen.remove();
      return copy.textContent ?? '';
    },
    button(name, index = 0) {
      const button = buttons(name)[index];
      assert.ok(
        button,
        `no button ${name} in: ${[...el.querySelectorAll('button')].map(b => b.textContent).join(', ')}`,
      );
      return button;
    },
    async click(name, index = 0, detail = 1) {
      const event = new window.MouseEvent('click', { bubbles: true, detail });
      await act(() => void shown.button(name, index).dispatchEvent(event));
    },
    async type(selector, text) {
      const field = find<HTMLInputElement>(selector);
      field.value = text;
      await act(() => void field.dispatchEvent(new window.Event('input', { bubbles: true })));
    },
    async key(selector, init) {
      const event = new window.KeyboardEvent('keydown', { bubbles: true, cancelable: true, ...init });
      await act(() => void find(selector).dispatchEvent(event));
      return event;
    },
  };
  return shown;
}
