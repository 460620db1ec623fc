// Fails when what a kernel sends to the browser for one widget is larger than the budget.
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const BUDGET_KIB = 60;
const files = ['widget.js', 'widget.css'].map(name => new URL(`../../static/${name}`, import.meta.url));
const kib = gzipSync(Buffer.concat(files.map(file => readFileSync(file)))).length / 1024;
console.log(`${kib.toFixed(1)} KiB gzipped of ${BUDGET_KIB}`);
process.exitCode = kib <= BUDGET_KIB ? 0 : 1;
