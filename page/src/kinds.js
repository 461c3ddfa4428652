// SPDX-License-Identifier: BSD-2-Clause
// What a finding of each kind is about, in a few words, and what to do next with it. The sentence itself is the
// report's; so is how sure it is.

const line = 'that line (Where)';

export const kinds = {
  delay: [
    'Somebody is late, and others wait for it',
    'Look at what the late one does there (Where): more than the others, or slower. The call behind it is what it ' +
      'comes late to, and not at fault. The links show the longest waits: look at the lane of the late one at that time.',
  ],
  load_imbalance: [
    'Several have more of the same work than others',
    'Look at what they do there (Where), and at how the work is divided: by size rather than by number, or in smaller ' +
      'pieces that whoever is done takes next. If it is divided evenly, these are slower: compare their CPUs.',
  ],
  changing_imbalance: [
    'In each step another one is late',
    'The work is even in all, and uneven in each step: divide each step evenly, or meet less often, so that it evens out.',
  ],
  serialisation: [
    'They work one after the other',
    'All have as much to do, and wait for their turn at that line (Where): hand on what the next one needs earlier, ' +
      'in smaller pieces (pipelining), or let each begin with what needs nothing of the others.',
  ],
  slow_thread: [
    'One thread makes the others wait',
    'It waits less than all others: it has more to do, or is slower. See what it does between its calls.',
  ],
  critical_path: [
    "The run is as long as one thread's work",
    'Nobody else can make the run shorter. Make this part shorter, or share it among threads.',
  ],
  starved: [
    'Threads could run, and had no CPU',
    'Not the code, but the machine: compare ranks and threads with the CPUs that they may use (binding, a ' +
      "container's " +
      'limit, other jobs). Where those that the others wait for are among them, that comes first: whoever cannot run ' +
      'looks late.',
  ],
  lock_contention: [
    'Threads wait for a lock',
    `See what is done between ${line} and the release: less work there, a lock for each part of the data, or none.`,
  ],
  lock_convoy: [
    'A lock is handed from one to the next',
    'Nearly each release wakes somebody who waits. It is not the work under the lock that takes the time: ' +
      'take it less often, ' +
      'or for more at once.',
  ],
  failed_tries: ['Attempts to take a lock fail again and again', 'Wait for it instead, or try less often.'],
  hot_event: [
    'One kind of call takes much of the time',
    'This is where the time is, not why. Where calls wait, see who is waited for; else see from which ' +
      'line most are made.',
  ],
  team_wait: [
    'Threads of parallel regions wait',
    'See the section on regions: uneven shares, work outside of regions, or more threads than CPUs.',
  ],
  uneven_region: [
    'The shares of a parallel region are uneven',
    `Divide the loop that begins at ${line} otherwise (schedule, smaller pieces), or see why the last one has more.`,
  ],
  small_chunks: [
    'A loop is handed out in too small pieces',
    `Give the loop of the region at ${line} a larger chunk size, or a static or guided schedule.`,
  ],
  short_regions: [
    'A parallel region is too short to be worth it',
    'Join it with its neighbours, or let one thread do it.',
  ],
  serial_code: [
    'Work outside of parallel regions, while the other threads wait',
    'More threads do not make that quicker. Do it in parallel, or while the others compute.',
  ],
  slow_worker: [
    'One worker is slower than the others',
    'The same tasks take longer there: see its CPU, its memory, and what else runs beside it.',
  ],
  task_overhead: [
    'Tasks are too small',
    'The runtime takes much of the time between them: put more work into each task.',
  ],
  ready_tasks: [
    'Workers are idle though tasks are ready',
    'Tasks are bound to a worker, or given to one that is busy: see where they are submitted, and the scheduler.',
  ],
  task_dependencies: [
    'Workers are idle, as tasks wait for others',
    'The graph of tasks is narrow: smaller tasks on the longest chain, or fewer dependences.',
  ],
  last_tasks: [
    'Workers are idle while the program waits for the last tasks',
    'Too few tasks between two waits, or too large ones: submit more before it waits.',
  ],
  late_submission: ['Workers are idle, as nothing is submitted', 'See what the submitting thread does instead.'],
  task_data: [
    'Workers wait for the data of tasks',
    'See between which memory nodes it goes, and whether it can come earlier.',
  ],
  no_overlap: ['Waits overlap nothing', 'Begin the transfer earlier, or do work between its begin and the wait.'],
  split_phase_wasted: [
    'Barriers in two halves have nothing between the halves',
    'Put work between them, or use a whole barrier.',
  ],
  small_messages: ['Many small messages to the same rank', 'Send them together, if the program can.'],
  hot_target: [
    'One rank is the target of most messages or accesses',
    'Spread what the others ask of it among more ranks.',
  ],
  leak: ['Memory grows, and is not freed', `See who should free what is allocated at ${line}.`],
  churn: ['Blocks are allocated and freed again at once', 'Keep the block, or have it on the stack.'],
  probe_cost: [
    'Observing itself takes much of the time',
    'Read all figures with that in mind, and record again with a limit of the cost (--max-overhead).',
  ],
  unreturned: ['Calls did not return', 'An exception or longjmp has left them; that may be meant so.'],
  unmodelled: ['A runtime that is not seen', 'What happens in it is in no figure here.'],
  outlier_iterations: [
    'Some iterations are much longer than the others',
    'The links show them: look who does what there that is in no other iteration.',
  ],
  slowdown: ['Iterations become slower', 'Compare one from before the change with one from after it.'],
};

export const kindTitle = (kind) => kinds[kind]?.[0] ?? kind.replaceAll('_', ' ');
export const nextOf = (kind, hasPlace) =>
  (kinds[kind]?.[1] ?? '').replaceAll(line, hasPlace ? line : 'the place in the sentence');

const sure = {
  exact: 'exact: each instance was seen',
  measured: 'measured: each call was seen and timed',
  statistical: 'statistical: more than chance',
  bounded: 'a bound: it can only be less',
  estimated: 'estimated, by how things mostly are',
};

/** What it rests on, where that is not the calls: also calls that were not seen make it no less sure. */
const rests = {
  starved: "measured by the kernel: how long each thread waited in a CPU's run queue; no call was needed for it",
  probe_cost: 'estimated: calls that were counted, times the price of one',
  leak: 'estimated: blocks that were got and not freed while it was observed',
};

/** What the report's tests mean, where they are short. */
const meaning = [
  [
    '; the waiting is no single accident, and is not for want of a processor',
    ', and that is no single accident: the waiting is spread over at least 3 waits of about one length (or: it does ' +
      'this less than 10 times, and nobody else does); and it did not merely lack a CPU',
  ],
  [
    'others wait for it 4 times as much as for each of those who do the same',
    'others wait for this thread at least 4 times as long as for each other thread that does the same',
  ],
  [
    'nobody else does the same, and one waits for it 4 times as long as it waits there itself',
    'nobody else does the same, and somebody waits for it at the call behind it at least 4 times as long as it ' +
      'waits for that one there',
  ],
  [
    'it takes 5 % and 3 standard errors longer for it than those who do the same',
    'it takes at least 5 % longer for it than the others that do the same, and more than chance makes it vary (3 ' +
      'standard errors)',
  ],
  [
    'twice the median of its part, and 6 standard deviations from it, by the median of the distances',
    'an iteration takes at least twice the median of its phase, and is at least 6 standard deviations away from it ' +
      '(reckoned from the median distance, so that outliers do not count)',
  ],
  [
    "calls by the price of one, as measured before (calibration): a tenth of a thread's time, and 0.1 s",
    "calls times the price of one, which was measured before, are at least a tenth of a thread's time and 0.1 s",
  ],
  [
    "the kernel's own account: a tenth of the thread's time, and half a second",
    "a thread had no CPU for at least a tenth of its time and half a second, by the kernel's own account",
  ],
];

/** From when on a finding is told, in a sentence without its end. */
function rule(test) {
  const words = meaning.reduce((text, [short, long]) => text.replace(short, long), test);
  if (words.startsWith('by ')) return `Reckoned ${words}`;
  const least = /^a (tenth|fifth) of|^\d+ % of/.test(words) ? 'it takes at least ' : '';
  return `Reported when ${least}${words}`;
}

/** How sure a finding is: in a sentence, and from when on it is told. */
export function surety({ kind, confidence }) {
  const { how, test, p, not_seen } = confidence ?? {};
  const unseen = kind === 'starved' ? null : not_seen;
  return [
    [
      rests[kind] ?? sure[how] ?? how,
      p && `where there is nothing, chance alone passes the test in at most ${Number((100 * p).toPrecision(2))} % of cases`,
      p && confidence.gain === 'simulated' && 'how far the gain is right is not known by that',
      unseen?.calls_not_on_timeline &&
        `${unseen.calls_not_on_timeline.toLocaleString('en-US')} calls are not on the timeline`,
      unseen?.windows && 'some calls were not seen (see What was not seen)',
      unseen?.cut && 'the recording is cut',
    ]
      .filter(Boolean)
      .join('; '),
    test && rule(test),
  ];
}

/** What was looked for, for a report that has found nothing: words and the part of the report that must be there. */
export const lookedFor = [
  ['threads and ranks that others wait for', 'delays'],
  ['locks that threads wait for', 'locks'],
  ['a part of one thread that the run is as long as', 'critical_path'],
  ['threads without a CPU', 'scheduling'],
  ['iterations that are out of line or become slower', 'phases'],
  ['uneven, short or serial parallel regions', 'regions'],
  ['idle workers and slow tasks', 'tasks'],
  ['small messages, hot targets, waits that overlap nothing', 'communication'],
  ['leaks and short-lived blocks of memory', 'memory'],
  ["an event that takes a tenth of the threads' time", 'events'],
];
