/** A page for tests; the test script loads it before the tests and what they test. */
import { JSDOM } from 'jsdom';

const { window } = new JSDOM('<!doctype html><html lang="en"><title>test</title><body></body></html>', {
  pretendToBeVisual: true,
  url: 'http://localhost/',
});

const NAMES = [
  'window',
  'document',
  'HTMLElement',
  'Node',
  'Element',
  'NodeFilter',
  'DocumentFragment',
  'MutationObserver',
];
for (const name of NAMES) {
  Object.defineProperty(globalThis, name, { value: name === 'window' ? window : window[name], configurable: true });
}
for (const name of ['requestAnimationFrame', 'cancelAnimationFrame'] as const) {
  Object.defineProperty(globalThis, name, { value: window[name].bind(window), configurable: true });
}
// jsdom lays nothing out, so there is nowhere to scroll to.
window.Element.prototype.scrollIntoView = () => undefined;
window.Element.prototype.scrollTo = () => undefined;
