// Bundles the run view and the panels into ../static/ (or into --outdir DIR). With --harness it bundles dev/, the page that draws the
// widget without a kernel, and with --dev it serves that page and rebuilds it on change.
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import * as esbuild from 'esbuild';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const { values } = parseArgs({
  options: { outdir: { type: 'string' }, harness: { type: 'boolean' }, dev: { type: 'boolean' } },
});

const widget = {
  absWorkingDir: root,
  entryPoints: { widget: 'src/index.ts', panels: 'src/panels/index.ts' },
  outdir: resolve(values.outdir ?? resolve(root, '../static')),
  bundle: true,
  format: 'esm',
  target: ['es2022'],
  charset: 'utf8',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  minify: true,
  banner: { js: '// Built from ../frontend by `npm run build`; do not edit.' },
  logLevel: 'warning',
};

const harness = {
  ...widget,
  entryPoints: { main: 'dev/main.ts' },
  outdir: resolve(values.outdir ?? resolve(root, 'dev/dist')),
  format: 'iife',
  minify: false,
  banner: {},
};

if (values.dev) {
  const context = await esbuild.context(harness);
  await context.watch();
  const { port } = await context.serve({ host: '127.0.0.1', servedir: resolve(root, 'dev') });
  console.log(`http://127.0.0.1:${port}/`);
} else {
  await esbuild.build(values.harness ? harness : widget);
}
