/** Text of tools and models without what a terminal or a page would take for commands, as `views/plain.py` has it. */

const ESCAPES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
  /\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])|\x9b[0-?]*[ -/]*[@-~]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above.
const COLOUR = /^\x1b\[[\d;:]*m$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above, and what turns the direction of writing.
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]/g;
const OVERWRITTEN = /[^\n]*\r(?!\n|$)/gm;
const ESCAPE = '\x1b';

/** Keeps a terminal's colours and nothing else it would obey. A line drawn over itself appears as it looked last. */
export function settled(text: string): string {
  return text
    .replace(ESCAPES, sequence => (COLOUR.test(sequence) ? sequence : ''))
    .replace(OVERWRITTEN, '')
    .replace(CONTROLS, control => (control === ESCAPE ? control : ''));
}

/** Keeps nothing that a terminal would obey. */
export const plain = (text: string): string => settled(text.replace(ESCAPES, ''));

/** Puts a sign in the place of each control character: what is approved must not hide anything. */
export function revealed(text: string): string {
  return text.replace(/\r\n/g, '\n').replace(CONTROLS, control => {
    const code = control.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : `[U+${code.toString(16).toUpperCase().padStart(4, '0')}]`;
  });
}
