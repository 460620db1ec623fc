import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type DiffLine, parseDiff } from '../diff';
import type { ChangedFile } from '../protocol';

/** Keeps a host's shortcuts (JupyterLab's through Lumino) from acting on keys pressed in a control. */
export const OWN_KEYS = { 'data-lm-suppress-shortcuts': 'true' };
/** A text field also keeps the browser's own menu, with its paste and spelling. */
export const OWN_TEXT = { ...OWN_KEYS, 'data-jp-suppress-context-menu': 'true' };

const DIFF_LINES = 400;

/** Each widget of a page has this module anew, with a count of its own. */
const OURS = Math.random().toString(36).slice(2);
let ids = 0;

/** An id of its own in the page; Preact's `useId` repeats itself from one root to the next. */
export function useUniqueId(): string {
  const id = useRef('');
  id.current ||= `dn-${OURS}-${++ids}`;
  return id.current;
}

interface ButtonProps {
  children: ComponentChildren;
  onClick: (event: MouseEvent) => void;
  kind?: 'primary' | 'danger' | 'quiet' | 'plain';
  disabled?: boolean;
  /** Cannot be pressed now, but keeps the focus, so that it can be pressed again without being looked for. */
  unavailable?: boolean;
  expanded?: boolean;
  label?: string | undefined;
}

export function Button({
  children,
  onClick,
  kind = 'plain',
  disabled = false,
  unavailable = false,
  expanded,
  label,
}: ButtonProps) {
  return (
    <button
      type="button"
      class={`dn-button dn-${kind}`}
      disabled={disabled}
      aria-disabled={unavailable || undefined}
      aria-expanded={expanded}
      aria-label={label}
      onClick={event => unavailable || onClick(event)}
      {...OWN_KEYS}
    >
      {children}
    </button>
  );
}

/** A button that opens and closes what follows it. */
export function Toggle({ open, onToggle, children }: Fold & { children: ComponentChildren }) {
  return (
    <Button kind="quiet" expanded={open} onClick={onToggle}>
      <span class="dn-chevron" aria-hidden="true" />
      {children}
    </Button>
  );
}

export function Diff({ diff, label }: { diff: string; label: string }) {
  const [all, setAll] = useState(false);
  const lines = parseDiff(diff);
  const shown = all ? lines : lines.slice(0, DIFF_LINES);
  return (
    <>
      <div class="dn-diff dn-scroll" role="group" tabIndex={0} aria-label={label}>
        <div>
          {shown.map((line, index) => (
            <DiffRow key={index} line={line} />
          ))}
        </div>
      </div>
      {shown.length < lines.length && (
        <Button kind="quiet" onClick={() => setAll(true)}>
          Show all {String(lines.length)} lines
        </Button>
      )}
    </>
  );
}

function DiffRow({ line: { kind, text } }: { line: DiffLine }) {
  if (kind === 'add') return <ins class="dn-add">{text}</ins>;
  if (kind === 'remove') return <del class="dn-remove">{text}</del>;
  return <span class={`dn-${kind}`}>{text || ' '}</span>;
}

/** A part of the run, named for those who cannot see where it begins. */
export function Section({ label, kind, children }: { label: string; kind: string; children: ComponentChildren }) {
  return (
    <div class={`dn-section dn-${kind}`} role="group" aria-label={label}>
      {children}
    </div>
  );
}

/** One line of the kernel's words, with `code` set as code. */
export function Words({ text }: { text: string }) {
  return <>{text.split(/`([^`]+)`/).map((part, index) => (index % 2 ? <code key={index}>{part}</code> : part))}</>;
}

/** How many lines were added to files and removed from them. */
export function Counts({ files }: { files: Pick<ChangedFile, 'added' | 'removed'>[] }) {
  const added = sum(files.map(file => file.added));
  const removed = sum(files.map(file => file.removed));
  return (
    <code>
      {added > 0 && <span class="dn-good">+{added}</span>}
      {added > 0 && removed > 0 && ' '}
      {removed > 0 && <span class="dn-bad">−{removed}</span>}
    </code>
  );
}

export const sum = (numbers: number[]): number => numbers.reduce((total, n) => total + n, 0);

/** The one live region: it must be in the page before its text changes, or the change is not heard. */
export function Announcer({ text }: { text: string }) {
  const [said, say] = useState('');
  useEffect(() => say(text), [text]);
  return (
    <div class="dn-unseen" role="status" aria-live="polite">
      {said}
    </div>
  );
}

/** Keys typed into a text field concern nobody outside it. */
export function keepTypingHere(event: KeyboardEvent): void {
  if (event.target instanceof HTMLElement && event.target.matches('textarea, input')) event.stopPropagation();
}

export interface Fold {
  open: boolean;
  onToggle: () => void;
}

/** Open or folded by itself until the person chooses. */
export function useFold(byItself: boolean): Fold {
  const [chosen, choose] = useState<boolean | null>(null);
  const open = chosen ?? byItself;
  return { open, onToggle: () => choose(!open) };
}
