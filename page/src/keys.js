// SPDX-License-Identifier: BSD-2-Clause
// The keys of the timeline: they count while it has the focus, but `/`, which counts wherever nothing is being typed.

export const keys = [
  [['ArrowLeft', 'a'], '← A', 'earlier', (t) => t.pan(-0.15)],
  [['ArrowRight', 'd'], '→ D', 'later', (t) => t.pan(0.15)],
  [['+', '=', 'w'], '+ W', 'closer', (t) => t.zoom(1 / 1.5)],
  [['-', '_', 's'], '− S', 'farther', (t) => t.zoom(1.5)],
  [['0'], '0', 'the whole run', (t) => t.all()],
  [['Home'], 'Home', 'to the start of the run', (t) => t.moveTo(0)],
  [['End'], 'End', 'to its end', (t) => t.moveTo(Infinity)],
  [['ArrowUp'], '↑', 'the lane above', (t) => t.changeLane(-1)],
  [['ArrowDown'], '↓', 'the lane below', (t) => t.changeLane(1)],
  [['n'], 'N', 'the next call in the lane', (t) => t.step(1)],
  [['p'], 'P', 'the call before', (t) => t.step(-1)],
  [['Enter'], 'Enter', 'the call in the middle of the lane; once more: as wide as fits', (t) => t.enter()],
  [['u'], 'U', 'the call around it', (t) => t.up()],
  [['g'], 'G', 'the gap behind the call', (t) => t.nextGap()],
  [['l'], 'L', 'the lane as a whole', (t) => t.selectLane(t.lane)],
  [['.'], '.', 'the next one found', (t) => t.nextMatch(1)],
  [[','], ',', 'the one found before', (t) => t.nextMatch(-1)],
  [
    ['Escape'],
    'Esc',
    'nothing selected, nothing looked for',
    (t) => {
      t.clear();
      t.forget();
    },
  ],
];

const acts = new Map(keys.flatMap(([names, , , act]) => names.map((name) => [name, act])));
const typing = (target) => target.closest?.('input, textarea, select, [contenteditable]');

/** `box` is what has to have the focus; `search`: what `/` goes to, null: it goes elsewhere. */
export function listen(timeline, box, search) {
  box.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = acts.get(event.key.length === 1 ? event.key.toLowerCase() : event.key);
    if (!act) return;
    event.preventDefault();
    act(timeline);
  });
  if (!search) return;
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    event.preventDefault();
    timeline.reveal();
    search.focus();
    search.select();
  });
}
