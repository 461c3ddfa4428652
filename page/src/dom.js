// SPDX-License-Identifier: BSD-2-Clause
// Elements. Texts come from recordings and may be anything: they only ever become text (textContent), never markup.

/**
 * An element: element('button', { type: 'button', class: 'quiet', on: { click } }, 'text', otherElement).
 * An attribute that is null or false is left out.
 */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value == null || value === false) continue;
    if (key === 'on') for (const [event, act] of Object.entries(value)) made.addEventListener(event, act);
    else if (/^on/i.test(key)) throw new Error(`${key}: handlers belong into 'on'`);
    else made.setAttribute(key, value === true ? '' : String(value));
  }
  made.append(...children.flat().filter((child) => child != null && child !== false));
  return made;
}

/** Takes out what is in an element, and puts the children in. */
export function fill(parent, ...children) {
  parent.replaceChildren(...children.flat().filter((child) => child != null && child !== false));
  return parent;
}

/** Names may have marks in them that turn the direction of writing, and signs that are not seen: shown as codes. */
export function plain(text) {
  // eslint-disable-next-line no-control-regex
  return String(text ?? '').replace(
    /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (sign) => `\\u${sign.codePointAt(0).toString(16).padStart(4, '0')}`,
  );
}

let channel,
  waiting = [];

/** Lets the browser draw and take input, and goes on. (A timer would wait for 4 ms.) */
export function pause() {
  if (!channel) {
    channel = new MessageChannel();
    channel.port1.onmessage = () => waiting.shift()?.();
  }
  return new Promise((go) => {
    waiting.push(go);
    channel.port2.postMessage(0);
  });
}

/** Long work in slices: `await slice()` often; it pauses once `ms` have passed since it last did. */
export function slices(ms = 10) {
  let since = performance.now();
  return async function slice() {
    if (performance.now() - since < ms) return;
    await pause();
    since = performance.now();
  };
}
