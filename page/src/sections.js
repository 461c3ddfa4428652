// SPDX-License-Identifier: BSD-2-Clause
// The sections of the page: each with its heading, a line that says what is in it, and the rest, which is closed at
// first but for what matters. On paper all are open, and what is looked for by the browser's own search opens its.
import { element } from './dom.js';
import { several } from './figures.js';

/** Which section tells of what a finding is about, by the part of the report that the finding names. */
const OF_REPORT = {
  delays: 'waiting',
  wait_states: 'waiting',
  efficiency: 'waiting',
  critical_path: 'path',
  scheduling: 'cpu',
};

const OPEN = new Set(['findings', 'threads', 'timeline']); // always, at first

/** By section: how many findings are about it. */
export function findingsOf(report) {
  const found = new Map();
  for (const { section } of report?.findings ?? []) {
    const id = OF_REPORT[section] ?? section;
    if (id) found.set(id, (found.get(id) ?? 0) + 1);
  }
  return found;
}

/** In their order; but what findings are about stands before the rest of what is closed. */
export function inOrder(views, found) {
  const rank = ({ id }) => (OPEN.has(id) ? 0 : found.has(id) ? 1 : 2);
  return [...views].sort((a, b) => rank(a) - rank(b));
}

export class Sections {
  constructor(app, found = new Map()) {
    this.app = app;
    this.found = found;
    this.all = new Map();
    this.contents = document.getElementById('contents');
    this.main = document.getElementById('main');
    app.reveal = (id) => {
      this.set(id, true);
      this.ask(id);
    };
    app.openAll = () => this.setAll(true);
    this.everything = element('button', { type: 'button', class: 'all', 'aria-expanded': 'false' }, 'Open all');
    this.everything.addEventListener('click', () => this.setAll(!this.areOpen()));
    addEventListener('beforeprint', () => this.forPaper(true));
    addEventListener('afterprint', () => this.forPaper(false));
    addEventListener('hashchange', () => this.follow(location.hash));
    document.addEventListener('click', ({ target }) => {
      const href = target.closest?.('a[href^="#"]')?.getAttribute('href');
      if (href) this.follow(href);
    });
  }

  /** The section of a view: what its render() fills. */
  add(view, gist) {
    const name = `${view.id}-title`,
      body = element('div', { class: 'body', id: `${view.id}-body` });
    const open = OPEN.has(view.id) || this.found.has(view.id);
    const many = this.found.get(view.id);
    const foldable = view.id !== 'findings';
    const button = element(
      'button',
      { type: 'button', class: 'fold', 'aria-expanded': String(open), 'aria-controls': body.id },
      view.title,
    );
    const heading = element('h2', { id: name, tabindex: -1 }, foldable ? button : view.title);
    const marks = [many ? `${several(many, 'finding')}` : null, gist].filter(Boolean);
    const line = element('p', { class: 'gist' }, marks.join(' · '));
    const section = element(
      'section',
      { id: view.id, class: 'view', 'aria-labelledby': name },
      element('div', { class: 'head' }, heading, marks.length ? line : null),
      body,
    );
    this.main.append(section);
    const entry = element('a', { href: `#${view.id}` }, view.title, ...(many ? [' ', badge(many)] : []));
    this.contents.append(entry);
    const one = { section, body, button, entry, open: true };
    this.all.set(view.id, one);
    button.addEventListener('click', () => this.set(view.id, !one.open));
    body.addEventListener('beforematch', () => this.set(view.id, true));
    if (!open && foldable) this.set(view.id, false);
    return body;
  }

  /** All are there. */
  done() {
    this.contents.append(this.everything);
    this.tell();
    this.watch();
    if (location.hash) this.follow(location.hash);
  }

  set(id, open) {
    const one = this.all.get(id);
    if (!one || one.open === open) return;
    one.open = open;
    one.button.setAttribute('aria-expanded', String(open));
    show(one.body, open);
    this.tell();
  }

  setAll(open) {
    for (const [id, { button }] of this.all) if (button.isConnected) this.set(id, open);
  }

  areOpen() {
    return [...this.all.values()].every(({ open }) => open);
  }

  tell() {
    const open = this.areOpen();
    this.everything.textContent = open ? 'Close all' : 'Open all';
    this.everything.setAttribute('aria-expanded', String(open));
  }

  follow(hash) {
    let id;
    try {
      id = decodeURIComponent(hash.slice(1));
    } catch {
      return;
    }
    const target = this.all.get(id);
    if (!target) return;
    this.set(id, true);
    this.ask(id);
    if (location.hash === hash) target.section.scrollIntoView({ block: 'start' });
  }

  forPaper(on) {
    for (const { body, open } of this.all.values()) if (!open) show(body, on);
  }

  /** It is the one that is looked at, also where it is too short to come to the top, until the reader goes elsewhere. */
  ask(id) {
    if (!this.all.has(id)) return;
    this.asked = id;
    this.mark();
  }

  /** Which section is looked at, in the list of them. */
  watch() {
    this.inView = new Set();
    const watcher = new IntersectionObserver(
      (changes) => {
        for (const { target, isIntersecting } of changes)
          if (isIntersecting) this.inView.add(target.id);
          else this.inView.delete(target.id);
        const box = this.all.get(this.asked)?.section.getBoundingClientRect();
        if (box && (box.top > innerHeight || box.bottom < 0)) this.asked = null;
        this.mark();
      },
      { rootMargin: '-60px 0px -60% 0px' },
    );
    for (const { section } of this.all.values()) watcher.observe(section);
    const moved = () => {
      this.asked = null;
    };
    addEventListener('wheel', moved, { passive: true });
    addEventListener('touchmove', moved, { passive: true });
    addEventListener('keydown', ({ key }) => /^(Page|Arrow|Home|End| )/.test(key) && moved());
  }

  mark() {
    const now = this.asked ?? [...this.all.keys()].find((id) => this.inView?.has(id));
    for (const [id, { entry }] of this.all)
      if (id === now) entry.setAttribute('aria-current', 'true');
      else entry.removeAttribute('aria-current');
  }
}

const badge = (many) =>
  element(
    'span',
    { class: 'badge' },
    String(many),
    element('span', { class: 'unseen' }, many === 1 ? ' finding' : ' findings'),
  );

function show(body, on) {
  if (on) body.removeAttribute('hidden');
  else body.setAttribute('hidden', 'onbeforematch' in document.documentElement ? 'until-found' : '');
}
