// SPDX-License-Identifier: BSD-2-Clause
// What the lines of arrows mean, for the legend: of those kinds that there are.
import { element, plain } from './dom.js';
import { svg } from './make.js';
import { DASHES } from './timeline_overlay.js';

const line = (dash) =>
  svg(
    'svg',
    { class: 'tl-dash', width: 34, height: 10, 'aria-hidden': 'true' },
    svg('path', { d: 'M0 5h27', 'stroke-dasharray': dash.join(' ') || null }),
    svg('path', { class: 'head', d: 'M26 1l8 4l-8 4z' }),
  );

/** [an arrow] message, memory is opened: where kinds share a line, they stand together. */
export function arrowKeys({ arrows }) {
  const kinds = arrows ? [...new Set(arrows.kind)].sort((a, b) => a - b) : [];
  return DASHES.map((dash, at) => [dash, kinds.filter((kind) => kind % DASHES.length === at)])
    .filter(([, of]) => of.length)
    .map(([dash, of]) =>
      element(
        'span',
        { class: 'tl-key' },
        line(dash),
        ` ${of.map((kind) => plain(arrows.kinds[kind] ?? 'arrow')).join('; ')}`,
      ),
    );
}
