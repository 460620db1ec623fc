// Bundles test/*.test.tsx for Node and runs them with its own test runner. Arguments go to the runner.
import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import * as esbuild from 'esbuild';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const outdir = resolve(root, 'node_modules/.cache/tests');
const tests = readdirSync(resolve(root, 'test')).filter(name => /\.test\.tsx?$/.test(name));
rmSync(outdir, { recursive: true, force: true });
await esbuild.build({
  absWorkingDir: root,
  entryPoints: ['test/dom.ts', ...tests.map(name => `test/${name}`)],
  outdir,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  external: ['jsdom', 'axe-core'],
  loader: { '.css': 'empty' },
  sourcemap: 'inline',
  logLevel: 'warning',
});
const page = pathToFileURL(resolve(outdir, 'dom.mjs')).href;
const files = readdirSync(outdir)
  .filter(name => name.endsWith('.test.mjs'))
  .map(name => resolve(outdir, name));
const options = ['--enable-source-maps', '--import', page, '--test', ...process.argv.slice(2)];
const run = spawnSync(process.execPath, [...options, ...files], { cwd: root, stdio: 'inherit' });
process.exitCode = run.status ?? 1;
