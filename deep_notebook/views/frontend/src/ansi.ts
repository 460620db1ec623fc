import { AnsiUp } from 'ansi_up';
import DOMPurify from 'dompurify';
import type { SafeHtml } from './markdown';
import { settled } from './plain';

const purifier = DOMPurify();

/** Turns a terminal's colours into classes; everything else in `text` stays text. */
export function ansiToHtml(text: string): SafeHtml {
  const converter = new AnsiUp();
  converter.use_classes = true;
  converter.url_allowlist = {};
  const html = converter.ansi_to_html(settled(text));
  return purifier.sanitize(html, {
    ALLOWED_TAGS: ['span'],
    ALLOWED_ATTR: ['class'],
    ALLOW_ARIA_ATTR: false,
    ALLOW_DATA_ATTR: false,
  }) as SafeHtml;
}

export const hasAnsi = (text: string): boolean => text.includes('\u001b');
