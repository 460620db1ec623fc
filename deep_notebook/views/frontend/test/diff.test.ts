import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDiff } from '../src/diff';

const kinds = (diff: string): string[] => parseDiff(diff).map(({ kind }) => kind);

const CASES: { name: string; diff: string; expected: string[] }[] = [
  {
    name: 'the two names share a line, and a new file needs no place',
    diff: '--- /dev/null\n+++ a.md\n@@ -0,0 +1,2 @@\n+# A\n+\n',
    expected: ['file', 'add', 'add'],
  },
  {
    name: 'removed and added lines that look like names are lines',
    diff: '--- a.sql\n+++ a.sql\n@@ -1,2 +1,2 @@\n--- old comment\n+++ counter\n keep\n',
    expected: ['file', 'hunk', 'remove', 'add', 'context'],
  },
  {
    name: 'an empty context line stays in its hunk',
    diff: '--- a\n+++ a\n@@ -1,3 +1,3 @@\n x\n\n-y\n+z\n@@ -9 +9 @@\n-p\n+q\n\\ No newline at end of file\n',
    expected: ['file', 'hunk', 'context', 'context', 'remove', 'add', 'hunk', 'remove', 'add', 'note'],
  },
  {
    name: 'several files follow each other',
    diff: '--- a\n+++ a\n@@ -1 +1 @@\n-p\n+q\n--- b\n+++ /dev/null\n@@ -1 +0,0 @@\n-r\n',
    expected: ['file', 'hunk', 'remove', 'add', 'file', 'remove'],
  },
  {
    name: 'a diff that was cut short is read as far as it goes',
    diff: '--- a\n+++ a\n@@ -1,9 +1,9 @@\n-p\n',
    expected: ['file', 'hunk', 'remove'],
  },
];

for (const { name, diff, expected } of CASES) test(name, () => assert.deepEqual(kinds(diff), expected));

test('what comes and what goes is said in words', () => {
  assert.equal(parseDiff('--- /dev/null\n+++ a\n')[0]?.text, '--- (new)   +++ a');
  assert.equal(parseDiff('--- a\n+++ /dev/null\n')[0]?.text, '--- a   +++ (gone)');
  assert.equal(parseDiff('--- a/b/c\n+++ b/b/c\n')[0]?.text, '--- b/c   +++ b/c');
});
