// SPDX-License-Identifier: BSD-2-Clause
// Figures as the report's own sentences have them: 2.594 ms, 40.0 KiB, 1,600. "-" is what is not known.

const times = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'us'],
];
const sizes = [
  [2 ** 60, 'EiB'],
  [2 ** 50, 'PiB'],
  [2 ** 40, 'TiB'],
  [2 ** 30, 'GiB'],
  [2 ** 20, 'MiB'],
  [2 ** 10, 'KiB'],
];

const known = (value) => value != null && Number.isFinite(value);

function scaled(value, scales, digits, slack, smallest) {
  const scale = scales.find(([size]) => value >= size * (1 - slack));
  if (!scale) return `${Math.round(value)} ${smallest}`;
  const whole = value / scale[0];
  const places = Math.max(0, digits - (whole < 10 ? 1 : whole < 100 ? 2 : 3));
  return `${(Math.round((value * 10 ** places) / scale[0]) / 10 ** places).toFixed(places)} ${scale[1]}`;
}

export const time = (ns) => (!known(ns) ? '-' : ns < 0 ? `-${time(-ns)}` : scaled(ns, times, 4, 5e-5, 'ns'));
export const bytes = (n) => (known(n) ? scaled(n, sizes, 3, 5e-4, 'B') : '-');
export const rate = (perSecond) => (known(perSecond) ? `${bytes(perSecond)}/s` : '-');
export const count = (n) =>
  known(n)
    ? Math.round(n)
        .toString()
        .replace(/\B(?=(\d{3})+$)/g, ',')
    : '-';

/** Of a hundred. */
export const percent = (value, digits = 1) => (known(value) ? `${value.toFixed(digits)} %` : '-');
/** Of one. */
export const share = (value, digits = 1) => (known(value) ? percent(100 * value, digits) : '-');
/** A part of a whole. */
export const part = (value, whole, digits = 1) =>
  known(value) && whole ? percent((100 * value) / whole, digits) : '-';

/** A figure without zeros at its end: for axes. */
export const short = (text) => text.replace(/\.0+(?= |$)|(\.\d*[1-9])0+(?= |$)/, '$1');

/** ranks, processes */
export const plural = (noun) => `${noun}${noun.endsWith('s') ? 'es' : 's'}`;
/** 1 call, 3 calls */
export const several = (n, one, many = plural(one)) => `${count(n)} ${n === 1 ? one : many}`;

/** a, b, c and 3 more */
export function some(list, most = 4) {
  return list.length > most + 1 ? `${list.slice(0, most).join(', ')} and ${list.length - most} more` : list.join(', ');
}
