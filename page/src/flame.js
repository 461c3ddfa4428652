// SPDX-License-Identifier: BSD-2-Clause
// Which calls are inside of which, all threads together: as wide as the time. Made of the calls of the timeline.
import { count, part, several, time } from './figures.js';
import { h, put } from './make.js';
import { slices } from './dom.js';
import { table } from './tables.js';

const ROW = 21,
  LEAST = 0.002,
  DEPTH = 24,
  BOXES = 1500;

/** The tree of calls by event and line. */
async function grow({ calls, facts }) {
  const slice = slices();
  const root = { total: 0, inside: 0, calls: 0, children: new Map(), depth: 0 };
  const nodes = [root],
    at = new Int32Array(calls.n);
  for (let i = 0; i < calls.n; i++) {
    const up = calls.parent[i] < 0 ? root : nodes[at[calls.parent[i]]];
    const key = calls.event[i] * (facts.sites.length + 1) + calls.site[i];
    let node = up.children.get(key);
    if (!node) {
      node = {
        event: calls.event[i],
        site: calls.site[i],
        total: 0,
        inside: 0,
        calls: 0,
        children: new Map(),
        up,
        depth: up.depth + 1,
        index: nodes.length,
      };
      up.children.set(key, node);
      nodes.push(node);
    }
    at[i] = node.index ?? 0;
    node.total += calls.duration[i];
    node.calls++;
    up.inside += calls.duration[i];
    if (i % 65536 === 0) await slice();
  }
  root.total = root.inside;
  return { root, nodes };
}

function draw(app, { facts, wall, root }) {
  const names = (node) =>
    node === root
      ? 'all calls'
      : facts.events[node.event].name + (node.site ? ` at ${facts.sites[node.site - 1]}` : '');
  const colour = (node) =>
    node === root ? 'var(--group-outside)' : `var(--group-${facts.groups[facts.events[node.event].group] ?? 'other'})`;
  const say = (node) =>
    `${names(node)}: ${time(node.total)}, ${part(node.total, root.total)} of the time in calls, ` +
    `${part(node.total, wall)} of all threads' time` +
    (node === root ? '' : `; ${several(node.calls, 'call')}, ${time(node.total - node.inside)} of it in none inside`);
  const box = h('div', {
    class: 'flame',
    role: 'group',
    'aria-label': 'Calls inside of calls. Arrow keys move, Enter makes one as wide as the picture.',
  });
  const words = h(
    'p',
    { class: 'readout', role: 'status' },
    'Point at a call, or move with the arrow keys; a click makes it as wide as the picture.',
  );
  let focus = root,
    places = [];

  function boxes(node, left, width, row, into) {
    if (row > DEPTH || into.length > BOXES) return;
    into.push({ node, left, width, row });
    for (const child of [...node.children.values()].sort((a, b) => b.total - a.total)) {
      const part = (width * child.total) / (node.total || 1);
      if (part >= LEAST) boxes(child, left, part, row + 1, into);
      left += part;
    }
  }

  function show(node, keep) {
    focus = node;
    places = [];
    const above = [];
    for (let up = node.up; up; up = up.up) above.unshift(up);
    above.forEach((one, row) => places.push({ node: one, left: 0, width: 1, row, above: true }));
    boxes(node, 0, 1, above.length, places);
    box.style.height = `${ROW * (1 + places.reduce((most, { row }) => Math.max(most, row), 0))}px`;
    put(
      box,
      places.map(({ node: one, left, width, row, above: is }, i) =>
        h(
          'button',
          {
            type: 'button',
            tabindex: one === focus ? '0' : '-1',
            'aria-label': say(one),
            'data-i': i,
            style: {
              left: `${100 * left}%`,
              width: `${100 * width}%`,
              top: `${ROW * row}px`,
              opacity: is ? 0.7 : 1,
              'background-color': colour(one),
              background: one === root ? null : `color-mix(in srgb, ${colour(one)} 70%, white)`,
              color: one === root ? 'var(--fg)' : null,
            },
            on: {
              click: () => show(one, true),
              pointerenter: () => {
                words.textContent = say(one);
              },
              focus: () => {
                words.textContent = say(one);
              },
            },
          },
          width > 0.03 ? names(one) : '',
        ),
      ),
    );
    if (keep) box.querySelector('[tabindex="0"]')?.focus();
  }

  box.addEventListener('keydown', (event) => {
    const here = places[Number(document.activeElement?.dataset.i)];
    if (!here) return;
    const next = {
      ArrowUp: () => places.find(({ node }) => node === here.node.up),
      ArrowDown: () => places.find(({ node }) => node.up === here.node),
      ArrowRight: () =>
        places.filter(({ row, left }) => row === here.row && left > here.left).sort((a, b) => a.left - b.left)[0],
      ArrowLeft: () =>
        places.filter(({ row, left }) => row === here.row && left < here.left).sort((a, b) => b.left - a.left)[0],
      Escape: () => {
        show(root, true);
        return null;
      },
    }[event.key];
    if (!next) return;
    event.preventDefault();
    const found = next();
    if (found) box.querySelector(`[data-i="${places.indexOf(found)}"]`)?.focus();
  });
  show(root);
  return [
    h('p', { class: 'controls' }, h('button', { type: 'button', on: { click: () => show(root) } }, 'all calls')),
    box,
    words,
  ];
}

function pathTable(app, { facts, nodes, root }) {
  const names = (node) => facts.events[node.event].name + (node.site ? ` at ${facts.sites[node.site - 1]}` : '');
  const way = (node) => (node.up && node.up !== root ? `${way(node.up)} > ${names(node)}` : names(node));
  return table(app, {
    name: 'calls',
    caption: 'The same as a table: calls by what they are inside of',
    rows: nodes.slice(1),
    sort: '-self_ns',
    columns: [
      { key: 'way', title: 'Calls, outermost first', get: way },
      { key: 'calls', title: 'Calls', kind: 'count' },
      { key: 'total_ns', title: 'Total', kind: 'time', get: (n) => n.total },
      { key: 'self_ns', title: 'Self', kind: 'time', get: (n) => n.total - n.inside },
      { key: 'share', title: 'Of all in calls', kind: 'time', get: (n) => n.total, text: (ns) => part(ns, root.total) },
    ],
  });
}

export const flame = {
  id: 'flame',
  title: 'Flame graph',
  late: true,
  needs: ({ facts }) => facts.calls?.drawn > 0,
  async render(section, data, app) {
    const { facts, report } = data;
    if (!data.calls?.n) return section.append(h('p', { class: 'absent' }, 'No calls are in this file one by one.'));
    const tree = { facts, wall: report.threads.reduce((sum, { wall_ns: ns }) => sum + ns, 0), ...(await grow(data)) };
    if (!tree.nodes.some(({ depth }) => depth > 1))
      return section.append(
        h(
          'p',
          {},
          'No call that is in this file one by one is inside of another one: ',
          h('a', { href: '#events' }, 'Events and call sites'),
          ' has all that would stand here.',
        ),
      );
    section.append(
      h(
        'p',
        { class: 'intro' },
        `Calls inside of calls, all threads together, by event and line; the outermost calls are on top, ` +
          `and what they call is below. ` +
          `As wide as the time in calls; colours as in the timeline. ${
            facts.calls.left_out
              ? `Made of the ${several(facts.calls.drawn, 'call')} that are in this file one by ` +
                `one: ${count(facts.calls.left_out)} shorter than ${time(facts.calls.shorter_than_ns)} are not in it.`
              : `Made of all ${several(facts.calls.drawn, 'call')} on the timeline.`
          }`,
      ),
      ...draw(app, tree),
      pathTable(app, tree),
    );
  },
};
