import assert from 'node:assert/strict';
import { test } from 'node:test';
import { revealed, settled } from '../src/plain';

const REVEALED: [string, string][] = [
  ['plain text\n\tstays', 'plain text\n\tstays'],
  ['rm -rf /\rls', 'rm -rf /␍ls'],
  ['a\r\nb', 'a\nb'],
  ['\x1b[8mhidden\x1b[0m', '␛[8mhidden␛[0m'],
  ['if (x \u202e)', 'if (x [U+202E])'],
  ['\ufeffa\x7f', '[U+FEFF]a[U+007F]'],
];
for (const [text, shown] of REVEALED) {
  test(`what is approved hides nothing: ${JSON.stringify(text)}`, () => assert.equal(revealed(text), shown));
}

const SETTLED: [string, string][] = [
  ['\x1b[31mred\x1b[0m', '\x1b[31mred\x1b[0m'],
  ['\x1b[2J\x1b[1;1Hgone', 'gone'],
  ['\x1b]0;title\x07text', 'text'],
  ['10%\r50%\r100%\ndone\r\n', '100%\ndone\n'],
  ['a\u202eb\x08', 'ab'],
];
for (const [text, shown] of SETTLED) {
  test(`output keeps its colours and nothing it would be obeyed for: ${JSON.stringify(text)}`, () =>
    assert.equal(settled(text), shown));
}
