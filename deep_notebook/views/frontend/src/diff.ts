export interface DiffLine {
  kind: 'file' | 'hunk' | 'add' | 'remove' | 'context' | 'note';
  text: string;
}

/** The place of a hunk says nothing where a file comes or goes as a whole. */
const WHOLE_FILE = /^@@ (?:-0,0 |-\S+ \+0,0 )/;
const HUNK = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

/**
 * Splits a unified diff into lines that know what they are. Lines are counted by the hunk's header, so that a
 * removed line which itself begins with `--` is not taken for a file's name.
 */
export function parseDiff(diff: string): DiffLine[] {
  const lines: DiffLine[] = [];
  let removed = 0;
  let added = 0;
  for (const text of diff.replace(/\n$/, '').split('\n')) {
    const hunk = removed + added === 0 ? HUNK.exec(text) : null;
    if (hunk) {
      removed = Number(hunk[1] ?? 1);
      added = Number(hunk[2] ?? 1);
      if (!WHOLE_FILE.test(text)) lines.push({ kind: 'hunk', text });
    } else if (text.startsWith('\\')) {
      lines.push({ kind: 'note', text });
    } else if (removed + added === 0) {
      lines.push(fileLine(text, lines));
    } else if (text.startsWith('+')) {
      added = Math.max(0, added - 1);
      lines.push({ kind: 'add', text });
    } else if (text.startsWith('-')) {
      removed = Math.max(0, removed - 1);
      lines.push({ kind: 'remove', text });
    } else {
      removed = Math.max(0, removed - 1);
      added = Math.max(0, added - 1);
      lines.push({ kind: 'context', text });
    }
  }
  return lines;
}

/** `--- a/x` and `+++ b/x` are one line to read: what was, and what will be. */
function fileLine(line: string, before: DiffLine[]): DiffLine {
  const text = line.replace(/^(---|\+\+\+) [ab]\//, '$1 ');
  const previous = before.at(-1);
  if (text.startsWith('+++ ') && previous?.kind === 'file' && previous.text.startsWith('--- ')) {
    before.pop();
    return {
      kind: 'file',
      text: `${previous.text.replace('/dev/null', '(new)')}   ${text.replace('/dev/null', '(gone)')}`,
    };
  }
  return { kind: /^(---|\+\+\+) /.test(text) ? 'file' : 'note', text };
}
