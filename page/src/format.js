// SPDX-License-Identifier: BSD-2-Clause
// Figures as people read them. All times are ns. Durations are written as in the tables and the report's sentences.
import { time as duration } from './figures.js';

const units = [
  ['s', 1e9],
  ['ms', 1e6],
  ['us', 1e3],
  ['ns', 1],
];

/** A number with thousands parted: 1,234,567. */
export function count(n) {
  return n == null ? '–' : Math.round(n).toLocaleString('en-US');
}

/** Three digits, no more: 1.23, 12.3, 123. */
function digits(value) {
  const size = Math.abs(value);
  return value.toFixed(size >= 99.95 || Number.isInteger(value) ? 0 : size >= 9.995 ? 1 : 2);
}

/** A duration: 1.235 ms. */
export const time = (ns) => (ns == null ? '–' : duration(ns));

/**
 * A moment of a run that is `whole` ns long, as exactly as `step` (ns) asks for: 12.345 678 s, 1.5 ms. All moments of a
 * run have the same unit.
 */
export function moment(ns, step = 1, whole = 1e10) {
  const [name, size] = whole >= 1e9 ? units[0] : whole >= 1e6 ? units[1] : units[2];
  const most = Math.round(Math.log10(size));
  const places = Math.max(0, Math.min(most, Math.ceil(-Math.log10(step / size) - 1e-9)));
  const [before, part = ''] = (ns / size).toFixed(places).split('.');
  return `${Number(before).toLocaleString('en-US')}${part && '.'}${part.replace(/(\d{3})(?=\d)/g, '$1\u2009')} ${name}`;
}

/** A time as gaspbpf's options take it, without loss: 1234567ns, 12ms, 3s. */
export function option(ns) {
  const whole = Math.max(0, Math.round(ns));
  const [name, size] = [
    ['s', 1e9],
    ['ms', 1e6],
    ['us', 1e3],
    ['ns', 1],
  ].find(([, one]) => whole % one === 0);
  return `${whole / size}${name}`;
}

export function bytes(n) {
  if (n == null) return '–';
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let size = n,
    at = 0;
  for (; Math.abs(size) >= 1023.5 && at < names.length - 1; at++) size /= 1024;
  return `${digits(size)} ${names[at]}`;
}

export function percent(share) {
  if (share == null) return '–';
  const value = Math.abs(share) < 1e-8 ? 0 : share * 100; // what is left by rounding is nothing
  if (value > 0 && value < 0.05) return '< 0.1 %';
  return `${value !== 0 && Math.abs(value) < 0.95 ? value.toFixed(1) : Math.round(value)} %`;
}
