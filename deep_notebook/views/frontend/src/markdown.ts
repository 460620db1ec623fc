import DOMPurify from 'dompurify';
import { Marked, type Token, type Tokens } from 'marked';

declare const safe: unique symbol;
/** HTML that went through a sanitiser, the only kind that a view takes. */
export type SafeHtml = string & { [safe]: true };

const HARMLESS_TAG = /^<\/?(?:b|br|em|i|kbd|mark|s|strong|sub|sup|u)\s*\/?>$/i;
const WEB_LINK = /^(?:https?:\/\/|mailto:)/i;

interface MathToken extends Tokens.Generic {
  type: 'math';
  raw: string;
}

const mathToken = (match: RegExpExecArray | null): MathToken | undefined =>
  match ? { type: 'math', raw: match[0] } : undefined;

const renderMath = (token: Tokens.Generic): string => {
  const source = token.raw.trim();
  const tag = /^(?:\\\[|\$\$)/.test(source) ? 'div' : 'span';
  return `<${tag} class="dn-math">${escapeHtml(source)}</${tag}>`;
};

/** Math is kept as it was written, delimiters and all, and typeset later where the page can. */
const marked = new Marked({
  gfm: true,
  extensions: [
    {
      name: 'math',
      level: 'block',
      start: source => source.match(/(?:^|\n) {0,3}(?:\\\[|\$\$)/)?.index,
      tokenizer: source => mathToken(/^ {0,3}(?:\\\[[\s\S]+?\\\]|\$\$[\s\S]+?\$\$)[ \t]*(?:\n|$)/.exec(source)),
      renderer: renderMath,
    },
    {
      name: 'inlineMath',
      level: 'inline',
      start: source => source.match(/\\[([]|\$/)?.index,
      tokenizer: source =>
        mathToken(
          /^(?:\\\([\s\S]+?\\\)|\\\[[\s\S]+?\\\]|\$\$[^$]+?\$\$|\$(?![\s$])[^$\n]*?[^\s$\\]\$(?!\d))/.exec(source),
        ),
      renderer: renderMath,
    },
  ],
  renderer: {
    html: ({ text }) => (HARMLESS_TAG.test(text.trim()) ? text : escapeHtml(text)),
    image: ({ href, text }) => {
      const label = `[image: ${escapeHtml(text || href)}]`;
      return WEB_LINK.test(href) ? `<a href="${escapeHtml(href)}">${label}</a>` : label;
    },
    checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
  },
});

const purifier = DOMPurify();
purifier.addHook('afterSanitizeAttributes', node => {
  if (node.tagName !== 'A') return;
  if (WEB_LINK.test(node.getAttribute('href') ?? '')) {
    node.setAttribute('target', '_blank');
    node.setAttribute('rel', 'noopener noreferrer');
  } else {
    node.removeAttribute('href');
  }
});

const ALLOWED_TAGS = (
  'a b blockquote br code del div em h1 h2 h3 h4 h5 h6 hr i kbd li mark ol p pre s span strong sub sup ' +
  'table tbody td th thead tr u ul'
).split(' ');

/** Parses Markdown into its top-level blocks, so that a growing text redraws only its last one. */
export function blocks(markdown: string): string[] {
  const tokens: Token[] = marked.lexer(markdown);
  return tokens.filter(({ type }) => type !== 'space' && type !== 'def').map(token => marked.parser([token]));
}

/** Returns HTML that cannot run, load or style anything. Links lead to the web or to a mail address only. */
export function sanitize(html: string): SafeHtml {
  return purifier.sanitize(html, {
    ALLOWED_TAGS,
    ALLOWED_ATTR: ['align', 'class', 'href', 'start', 'title'],
    ALLOW_ARIA_ATTR: false,
    ALLOW_DATA_ATTR: false,
  }) as SafeHtml;
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`);
}
