import { ansiToHtml, hasAnsi } from '../ansi';
import { settled } from '../plain';
import { Html } from './html';

/** Text of a tool, with a terminal's colours where it has them. */
export function Output({ text, label }: { text: string; label: string }) {
  return (
    <div class="dn-output dn-scroll" role="group" tabIndex={0} aria-label={label}>
      {hasAnsi(text) ? <Html html={ansiToHtml(text)} /> : settled(text)}
    </div>
  );
}
