// SPDX-License-Identifier: BSD-2-Clause
// Makes one file of the page: node build.mjs [FILE], usually by `make page`. The same sources give the same bytes.
//
// The data come later, from the exporter: they replace the two marks in index.html. The script and the style are
// allowed by their hashes and nothing else is, so the page asks no network for anything (Content-Security-Policy).
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const target = resolve(process.argv[2] ?? join(here, '..', 'build', 'page', 'page.html'));
const marks = ['<!--gaspbpf:first-->', '<!--gaspbpf:rest-->'];

function fail(text) {
  console.error(`page/build.mjs: ${text}`);
  process.exit(1);
}

/** The packages that a bundle was made of, from the paths of its sources. */
function packagesOf(metafile) {
  const names = new Set();
  for (const path of Object.keys(metafile.inputs)) {
    const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path);
    if (found) names.add(found[1]);
  }
  return [...names].sort();
}

function licenceOf(name) {
  const folder = join(here, 'node_modules', name);
  const about = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder)
    .sort()
    .find((one) => /^licen[cs]e(\.|$)/i.test(one));
  if (!file) fail(`${name} has no file with its licence`);
  return {
    name,
    version: about.version,
    licence: about.license,
    text: readFileSync(join(folder, file), 'utf8').trim(),
  };
}

async function bundle(licences) {
  return build({
    entryPoints: [join(here, 'src', 'main.js')],
    bundle: true,
    write: false,
    outdir: 'out',
    format: 'iife',
    target: ['chrome100', 'firefox113', 'safari16.4'],
    minify: true,
    charset: 'ascii',
    legalComments: 'none',
    metafile: true,
    absWorkingDir: here,
    define: { LICENCES: JSON.stringify(licences) },
  });
}

/** A text that ends an element early would end the script, too. */
function checkedScript(text) {
  if (/<\/script|<!--/i.test(text)) fail('the bundle has text in it that a script in HTML cannot have');
  return text;
}

const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

if (!existsSync(join(here, 'node_modules', 'esbuild')))
  fail("the packages are not there: 'make page' gets them (npm ci)");

// Twice: the first time tells which packages are in it, the second has their licences.
const packages = packagesOf((await bundle([])).metafile);
const { outputFiles } = await bundle(packages.map(licenceOf));
const part = (suffix) => outputFiles.find((file) => file.path.endsWith(suffix))?.text.trim() ?? '';
const script = checkedScript(part('.js'));
const style = part('.css');

const policy = [
  "default-src 'none'",
  `script-src ${hash(script)}`,
  `style-src ${hash(style)}`,
  'img-src data: blob:',
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

let page = readFileSync(join(here, 'src', 'index.html'), 'utf8');
for (const [mark, text] of [
  ['{{policy}}', policy],
  ['{{style}}', style],
  ['{{script}}', script],
]) {
  if (page.split(mark).length !== 2) fail(`index.html must have ${mark} once`);
  page = page.split(mark).join(text);
}
for (const mark of marks)
  if (page.split(`\n${mark}\n`).length !== 2) fail(`index.html must have ${mark} once, alone on its line`);

mkdirSync(dirname(target), { recursive: true });
writeFileSync(target, page);
