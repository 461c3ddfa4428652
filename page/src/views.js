// SPDX-License-Identifier: BSD-2-Clause
// The sections of the page, in order. A view is
//   { id, title,
//     needs: (data) => true | false | 'why it is not there',   false: the section is not shown; a text: it is, with it
//     late: true,                                              render only when calls, bins, arrows are loaded, too
//     render(section, data, app) }                             fills the section, below its heading; may be async
// `data` is that of data.js, `app` that of main.js.
import { about } from './about.js';
import { communication } from './communication.js';
import { events } from './events.js';
import { findings } from './findings.js';
import { flame } from './flame.js';
import { locks } from './locks.js';
import { meetings } from './meetings.js';
import { memory } from './memory.js';
import { cpu, files, unseen } from './others.js';
import { path } from './path.js';
import { phases } from './phases.js';
import { regions } from './regions.js';
import { tasks } from './tasks.js';
import { threads } from './threads.js';
import { timeline } from './timeline.js';
import { waiting } from './waiting.js';

export const views = [findings, threads, timeline, waiting, meetings, locks, regions, tasks, phases, path, communication,
  events, flame, memory, files, cpu, unseen, about];
