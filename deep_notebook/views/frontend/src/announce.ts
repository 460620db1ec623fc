import type { RunState } from './protocol';

/** The sentence that tells what has just happened, or `null` when nothing needs saying aloud. */
export function announcement(before: RunState | null, after: RunState): string | null {
  const asked = new Set(before ? open(before).map(({ id }) => id) : []);
  const pending = open(after);
  if (after.phase === 'waiting' && pending.some(({ id }) => !asked.has(id))) {
    const titles = pending.map(({ title }) => title).join(' ');
    return pending.length > 1
      ? `Waiting for you: ${pending.length} questions. ${titles}`
      : `Waiting for you: ${titles}`;
  }
  if (before === null || before.phase === after.phase) return null;
  switch (after.phase) {
    case 'running':
      return before.phase === 'waiting' ? 'Working again.' : 'Working.';
    case 'done':
      return 'Done.';
    case 'stopped':
      return after.error ? `Stopped. ${firstLine(after.error)}` : 'Stopped by you.';
    case 'failed':
      return `Failed. ${firstLine(after.error ?? '')}`.trim();
    case 'suspended':
      return 'Suspended, waiting for an answer.';
    default:
      return null;
  }
}

const open = ({ approvals, questions }: RunState): { id: string; title: string }[] =>
  [...approvals, ...questions.map(question => ({ ...question, title: question.text }))].filter(isPending);
const isPending = ({ state }: { state: string }): boolean => state === 'pending';
const firstLine = (text: string): string => text.split('\n', 1)[0] ?? '';
