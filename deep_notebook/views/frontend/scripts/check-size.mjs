// Fails when what a kernel sends to the browser for one widget is larger than the budget.
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const BUDGETS_KIB = { widget: 60, panels: 40 };
for (const [name, budget] of Object.entries(BUDGETS_KIB)) {
  const files = ['js', 'css'].map(kind => new URL(`../../static/${name}.${kind}`, import.meta.url));
  const kib = gzipSync(Buffer.concat(files.map(file => readFileSync(file)))).length / 1024;
  console.log(`${name}: ${kib.toFixed(1)} KiB gzipped of ${budget}`);
  if (kib > budget) process.exitCode = 1;
}
