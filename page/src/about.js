// SPDX-License-Identifier: BSD-2-Clause
// Where the page comes from, and whose work is in it.
/* global LICENCES */
import { element, plain } from './dom.js';

export const about = {
  id: 'about',
  title: 'About',
  needs: () => true,
  render(section, { facts }, app) {
    const { calls } = facts;
    section.append(
      element(
        'p',
        {},
        `Made by gaspbpf ${plain(facts.gaspbpf)} `,
        facts.recording == null ? 'at the end of an observation. ' : `from ${plain(facts.recording)}. `,
        calls.left_out
          ? `${app.format.count(calls.drawn)} of ${app.format.count(calls.all)} calls are in this file one by ` +
              `one; ${app.format.count(calls.left_out)} shorter than ` +
              `${app.format.time(calls.shorter_than_ns)} are in sums.`
          : `All ${app.format.count(calls.all)} calls are in this file. `,
        ' The page asks no network for anything.',
      ),
      ...LICENCES.map((one) =>
        element(
          'details',
          {},
          element('summary', {}, `${one.name} ${one.version} (${one.licence})`),
          element(
            'pre',
            { class: 'licence', tabindex: 0, role: 'region', 'aria-label': `Licence of ${one.name}` },
            one.text,
          ),
        ),
      ),
    );
  },
};
