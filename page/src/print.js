// SPDX-License-Identifier: BSD-2-Clause
// On paper it is light, whatever the screen is: charts are drawn anew for that.

let before;

/** Those who draw are told by an event of their own, since nobody has pressed the button. */
function change(theme) {
  const { dataset } = document.documentElement;
  if (theme) dataset.theme = theme;
  else delete dataset.theme;
  document.dispatchEvent(new CustomEvent('theme'));
}

addEventListener('beforeprint', () => {
  before = document.documentElement.dataset.theme;
  change('light');
});

addEventListener('afterprint', () => change(before));
