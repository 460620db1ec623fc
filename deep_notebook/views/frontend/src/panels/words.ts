import { count } from '../words';
import type {
  ChangeSet,
  Hit,
  Pages,
  Panel,
  PlannedFile,
  ReviewFile,
  RewindQuestion,
  Search,
  TimelinePoint,
} from './protocol';

export const NO_CHECKPOINTS = 'There are no checkpoints yet. `%deep checkpoint LABEL` makes one.';
export const NOTHING_CHANGED = 'No file was changed.';

const PLANNED = { edit: 'goes back to how it was', create: 'comes back', delete: 'is removed' };
const DID = { edit: '', create: 'new', delete: 'deleted' };
const REVIEWED = { open: '', kept: 'kept', undone: 'undone', mixed: 'kept in part' };

const joined = (...parts: string[]): string => parts.filter(Boolean).join(' · ');

/** The heading of a timeline: `Checkpoints · 5`. */
export const timeline = (points: number): string => (points ? `Checkpoints · ${points}` : 'Checkpoints');

/** What is beside a checkpoint's label: `run 3 · after write_file · 12 messages`. */
export const point = ({ run, tool, messages }: Pick<TimelinePoint, 'run' | 'tool' | 'messages'>): string =>
  joined(run === null ? '' : `run ${run}`, tool ? `after ${tool}` : '', count(messages, 'message'));

export const question = ({ label }: Pick<RewindQuestion, 'label'>): string => `Go back to “${label}”?`;

/** What going back takes with it, besides files. */
export function goingBack({ messages }: Pick<RewindQuestion, 'messages'>): string {
  if (!messages) return 'The conversation stays as it is.';
  return `${count(messages, 'message')} ${messages === 1 ? 'is' : 'are'} taken back.`;
}

/** What becomes of one file: `comes back`. */
export function planned({ action, possible, yours }: Pick<PlannedFile, 'action' | 'possible' | 'yours'>): string {
  if (!possible) return 'stays as it is: what it held then, or holds now, could not be kept';
  return joined(PLANNED[action], yours ? 'changed since by you or another program' : '');
}

/** Which variables changed and are left alone; nothing if none. */
export const variables = ({ variables }: Pick<RewindQuestion, 'variables'>): string =>
  variables.length ? `Variables are not taken back: ${variables.join(', ')}` : '';

/** The heading of a change set: `Changes of run 3 · 2 of 3 files to review`. */
export function reviewed({ run, files }: Pick<ChangeSet, 'run' | 'files'>): string {
  const title = run === null ? 'Changes' : `Changes of run ${run}`;
  const open = files.filter(({ state, hunks }) => state === 'open' || hunks.some(hunk => hunk.state === 'open')).length;
  if (!files.length) return title;
  const all = count(files.length, 'file');
  return `${title} · ${open ? `${open} of ${all} to review` : `${all} reviewed`}`;
}

/** What is said where the notebook keeps an earlier state. To run a cell again may be to ask the agent again. */
export function unsaved(panel: Panel): string {
  const later = panel.kind === 'changes' ? `\`%deep review ${panel.run ?? ''}\` shows` : 'Run the cell again to keep';
  return `The page was loaded anew since the cell ran, so the notebook keeps an earlier state of this. ${later} the present one.`;
}

/** What was done to a file and what became of that: `new · kept`. */
export const review = ({ action, state, note }: Pick<ReviewFile, 'action' | 'state' | 'note'>): string =>
  joined(DID[action], REVIEWED[state], note ?? '');

/** What a search has found: `2 places`. */
export function searched({ query, hits, more }: Pick<Search, 'query' | 'hits' | 'more'>): string {
  if (!query.trim()) return '';
  if (!hits.length) return 'Nothing found.';
  const places = count(hits.length, 'place');
  return more ? `The best ${places}` : places;
}

/** Where a hit is and who said it: `run 3 · you`. */
export const hit = ({ run, speaker }: Pick<Hit, 'run' | 'speaker'>): string =>
  joined(run === null ? '' : `run ${run}`, speaker);

/** Where a page lies: `Page 2 of 7 · lines 101–200 of 640`. */
export function page({
  page,
  pages,
  first_line,
  lines,
  text,
}: Omit<Pages, 'kind' | 'title' | 'path' | 'notice'>): string {
  const where = `Page ${page} of ${pages}`;
  if (!text) return where;
  const shown = text.replace(/\n$/, '').split('\n').length;
  const last = first_line + shown - 1;
  return `${where} · ${shown > 1 ? `lines ${first_line}–${last}` : `line ${last}`} of ${lines}`;
}

const two = (n: number): string => String(n).padStart(2, '0');

/** A moment (Unix seconds) in the reader's time: `14:03` on the same day, else `2025-12-01 14:03`. */
export function when(at: number, now = new Date()): string {
  const then = new Date(at * 1000);
  const time = `${two(then.getHours())}:${two(then.getMinutes())}`;
  if (then.toDateString() === now.toDateString()) return time;
  return `${then.getFullYear()}-${two(then.getMonth() + 1)}-${two(then.getDate())} ${time}`;
}
