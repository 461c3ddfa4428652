// SPDX-License-Identifier: BSD-2-Clause
// The sections of the page, in order. A view is
//   { id, title,
//     needs: (data) => true | false | 'why it is not there',   false: the section is not shown; a text: it is, with it
//     late: true,                                              render only when calls, bins, arrows are loaded, too
//     render(section, data, app) }                             fills the section, below its heading; may be async
// `data` is that of data.js, `app` that of main.js.
import { timeline } from './timeline.js';
import { about } from './about.js';

export const views = [timeline, about];
