// SPDX-License-Identifier: BSD-2-Clause
// Elements as the views make them: nested lists of children, styles, pictures. All texts go through plain().
import { plain } from './dom.js';
import { part } from './figures.js';

const SVG = 'http://www.w3.org/2000/svg';

function add(parent, children) {
  for (const child of children.flat(Infinity)) {
    if (child == null || child === false) continue;
    parent.append(child instanceof Node ? child : plain(child));
  }
  return parent;
}

function set(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value == null || value === false) continue;
    if (name === 'on') for (const [event, act] of Object.entries(value)) made.addEventListener(event, act);
    else if (name === 'style')
      for (const [property, is] of Object.entries(value)) is != null && made.style.setProperty(property, is);
    else if (/^on/i.test(name)) throw new Error(`${name}: handlers belong into 'on'`);
    else made.setAttribute(name, value === true ? '' : plain(value));
  }
  return add(made, children);
}

/** h('p', { class: 'note', style: { width: '3px' }, on: { click } }, 'text', element, [more]) */
export const h = (name, attributes, ...children) => set(document.createElement(name), attributes, children);

/** The same of a picture. */
export const svg = (name, attributes, ...children) => set(document.createElementNS(SVG, name), attributes, children);

/** In place of all that was there. */
export function put(parent, ...children) {
  parent.replaceChildren();
  return add(parent, children);
}

let made = 0;

/** An id that nothing else has. */
export const newId = (name) => `${name}-${++made}`;

/** A part that is closed at first: `content()` makes what is in it when it is opened, or printed. */
export function details(summary, content) {
  const part = h('details', { class: 'more' }, h('summary', {}, summary));
  let filled = false;
  part.fillNow = () => {
    if (!filled) add(part, [content()]);
    filled = true;
  };
  part.addEventListener('toggle', () => part.open && part.fillNow());
  return part;
}

/** Names of colours with what they mean: [{ colour: 'var(--group-wait)', label, means }] */
export const legend = (entries) =>
  h(
    'ul',
    { class: 'legend' },
    entries.map(({ colour, label, means }) =>
      h(
        'li',
        {},
        h('span', { class: 'swatch', 'aria-hidden': 'true', style: { background: colour } }),
        h('b', {}, label),
        means ? `: ${means}` : '',
      ),
    ),
  );

/** Who cannot run is late, too: a word before what tells who is. */
export function beware(report, people) {
  const starved = report.scheduling?.starved ?? [];
  const of = report.threads.filter((t) => starved.some(({ pid, tid }) => pid === t.pid && tid === t.tid));
  const sum = (get) => of.reduce((all, thread) => all + get(thread), 0);
  const queued = sum(({ run_queue_lost_ns: lost, run_queue_ns: all }) => lost ?? all ?? 0);
  return starved.length
    ? [
        h(
          'p',
          { class: 'notice' },
          `Beware: ${people.some(starved, 4)} had no CPU for ${part(
            queued,
            sum(({ observed_ns: ns }) => ns ?? 0),
            0,
          )} of ` + `${starved.length > 1 ? 'their' : 'its'} time; part of this is that. `,
          h('a', { href: '#cpu' }, 'Waiting for a CPU'),
          ' has the figures.',
        ),
      ]
    : [];
}

/** A link that shows a time of a thread in the timeline, or does what `at` does there. instance: as in the report */
export function link(app, instance, text, label, at = () => app.gotoInstance(instance)) {
  return h(
    'button',
    {
      type: 'button',
      class: 'goto',
      'aria-label': label,
      on: { click: at },
      'data-from': instance.start_ns,
      'data-to': instance.end_ns,
    },
    text,
  );
}

/** A button that lets the timeline look for calls: words of events, lines, threads; each in quotes as it stands. */
export function find(words, text, label) {
  const ask = () => {
    const box = document.getElementById('tl-search');
    if (!box) return;
    box.value = `${words.map((word) => `"${word.replaceAll('"', '')}"`).join(' ')} longest`;
    box.dispatchEvent(new Event('find'));
    document.getElementById('timeline').scrollIntoView({ block: 'start' });
    box.focus({ preventScroll: true });
  };
  return h(
    'button',
    {
      type: 'button',
      class: 'goto find',
      title: 'Look for these calls in the timeline, the longest first',
      'aria-label': label,
      on: { click: ask },
    },
    text,
  );
}
