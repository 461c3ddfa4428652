// SPDX-License-Identifier: BSD-2-Clause
// A browser for tests and measurements: the machine's own Chromium or Firefox, without a window.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import puppeteer from 'puppeteer-core';

const PLACES = {
  chrome: ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'],
  firefox: ['/usr/bin/firefox-esr', '/usr/bin/firefox'],
};

export const executable = (which) => PLACES[which].find((path) => existsSync(path));

/** Starts it with a home of its own, which is gone when it is closed. */
export async function launch(which) {
  const home = mkdtempSync(join(tmpdir(), 'gaspbpf-page-'));
  const env = { ...process.env, HOME: home, TMPDIR: home, XDG_RUNTIME_DIR: home };
  const browser = await puppeteer.launch(
    which === 'firefox'
      ? { browser: 'firefox', executablePath: executable('firefox'), headless: true, env }
      : {
          browser: 'chrome',
          executablePath: executable('chrome'),
          headless: true,
          env,
          args: ['--no-sandbox', '--disable-dev-shm-usage'],
        },
  );
  const close = browser.close.bind(browser);
  browser.close = async () => {
    await close();
    rmSync(home, { recursive: true, force: true, maxRetries: 3 });
  };
  return browser;
}
