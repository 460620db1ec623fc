import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ansiToHtml } from '../src/ansi';
import { blocks, sanitize } from '../src/markdown';

/** The page that a Markdown text makes. */
function page(markdown: string): HTMLElement {
  const element = document.createElement('div');
  element.innerHTML = blocks(markdown).map(sanitize).join('');
  return element;
}

const ATTACKS = [
  '<img src=x onerror=alert(1)>',
  '<script>alert(1)</script>',
  '<iframe src="https://example.org"></iframe>',
  '<svg><animate onbegin=alert(1) attributeName=x></svg>',
  '<a href="javascript:alert(1)">x</a>',
  '[x](javascript:alert(1))',
  '[x](JaVaScRiPt:alert(1))',
  '[x](data:text/html,<script>alert(1)</script>)',
  '[x](vbscript:x)',
  '[x]: javascript:alert(1)\n\n[x]',
  '![x](https://example.org/track.png)',
  '![x](//example.org/track.png)',
  '![x](data:image/png;base64,AAAA)',
  '<b style="background:url(https://example.org)">x</b>',
  '<b onclick=alert(1)>x</b>',
  '<style>@import url(https://example.org)</style>',
  '<link rel=stylesheet href=https://example.org>',
  '<form action=https://example.org><button>ok</button></form>',
  '<input autofocus onfocus=alert(1)>',
  '<base href=https://example.org>',
  '```html\n<img src=x onerror=alert(1)>\n```',
  '`<img src=x onerror=alert(1)>`',
  '\\[<img src=x onerror=alert(1)>\\]',
  '$$<script>alert(1)</script>$$',
  '| a |\n|---|\n| <img src=x onerror=alert(1)> |',
  '[a"onmouseover="alert(1)](https://example.org "x\\" onclick=alert(1)")',
  '![a"onerror="alert(1)](https://example.org)',
];

for (const attack of ATTACKS) {
  test(`nothing runs, loads or styles: ${attack}`, () => {
    for (const element of page(attack).querySelectorAll('*')) {
      assert.ok(
        !/^(?:IMG|SCRIPT|IFRAME|SVG|STYLE|LINK|FORM|INPUT|BUTTON|BASE|OBJECT|VIDEO|AUDIO)$/i.test(element.tagName),
      );
      for (const { name, value } of element.attributes) {
        assert.ok(!name.startsWith('on') && name !== 'style' && name !== 'src', `${name}=${value}`);
        if (name === 'href') assert.match(value, /^(?:https?:|mailto:)/);
      }
    }
  });
}

test('links lead out of the page and tell nothing about it', () => {
  const link = page('[data](https://example.org/a?b=1&c=2)').querySelector('a');
  assert.equal(link?.getAttribute('href'), 'https://example.org/a?b=1&c=2');
  assert.equal(link?.getAttribute('rel'), 'noopener noreferrer');
  assert.equal(link?.getAttribute('target'), '_blank');
});

test('a link to anywhere but the web keeps its words only', () => {
  for (const target of ['file:///etc/passwd', '/lab', '#top', 'report.md']) {
    const link = page(`[x](${target})`).querySelector('a');
    assert.equal(link?.hasAttribute('href'), false, target);
    assert.equal(link?.textContent, 'x');
  }
});

test('a picture becomes a link that says so', () => {
  const element = page('![a chart](https://example.org/c.png)');
  assert.equal(element.textContent?.trim(), '[image: a chart]');
  assert.equal(element.querySelector('a')?.getAttribute('href'), 'https://example.org/c.png');
});

test('tags in prose are read, not lost', () => {
  assert.equal(page('use vector<int> and <T> here').textContent?.trim(), 'use vector<int> and <T> here');
  assert.equal(page('a<br>b, H<sub>2</sub>O').querySelectorAll('br, sub').length, 2);
});

const CODE = 'def f(a, b):\n    return a_1 * b_2  # \\(no math\\) $x$ <b> **no**';
test('a code fence stays as it is', () => {
  assert.equal(page(`\`\`\`python\n${CODE}\n\`\`\``).querySelector('pre code')?.textContent, `${CODE}\n`);
});

const MATH: { source: string; math: string[] }[] = [
  { source: 'so \\(a_1 * b_1 * c\\) holds', math: ['\\(a_1 * b_1 * c\\)'] },
  {
    source: '\\[\n\\sum_{i=1}^n x_i\n\n= \\bar{x} \\\\ *a*\n\\]',
    math: ['\\[\n\\sum_{i=1}^n x_i\n\n= \\bar{x} \\\\ *a*\n\\]'],
  },
  { source: 'inline $$a_b$$ and $x_1$, $y_1$.', math: ['$$a_b$$', '$x_1$', '$y_1$'] },
  { source: '- item \\(p < q\\)', math: ['\\(p < q\\)'] },
  { source: 'it costs $5 and $10, or US$3-$4', math: [] },
  { source: 'export $HOME and $PATH', math: [] },
  { source: '`\\(code\\)` and `$x$`', math: [] },
];
for (const { source, math } of MATH) {
  test(`math is kept as written: ${JSON.stringify(source)}`, () => {
    const found = [...page(source).querySelectorAll('.dn-math')].map(element => element.textContent);
    assert.deepEqual(found, math);
  });
}

test('a growing text changes its last block only', () => {
  const before = blocks('# A\n\nfirst\n\n```py\nx =');
  const after = blocks('# A\n\nfirst\n\n```py\nx = 1\ny = 2\n```\n\nlast');
  assert.deepEqual(before.slice(0, 2), after.slice(0, 2));
  assert.equal(after.length, 4);
});

test('a terminal has colours and nothing else', () => {
  const html = ansiToHtml(
    '\u001b[31mred\u001b[0m <img src=x onerror=alert(1)> \u001b]8;;javascript:alert(1)\u0007x\u001b]8;;\u0007',
  );
  const element = document.createElement('div');
  element.innerHTML = html;
  assert.equal(element.querySelector('.ansi-red-fg')?.textContent, 'red');
  assert.equal(element.querySelectorAll('img, a').length, 0);
});
