import puppeteer from 'puppeteer-core';
const browser = await puppeteer.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'], headless: true });
const page = await browser.newPage();
await page.setViewport({ width: 400, height: 1000 });
await page.goto(`file://${process.argv[2]}`);
await page.waitForFunction(() => document.documentElement.dataset.ready === 'all', { timeout: 20000 });
console.log(await page.evaluate(() => [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.scroll, nav, .heat, .tl')).map((e) => `${e.tagName}.${e.className} ${e.closest('section')?.id} ${e.getBoundingClientRect().right} ${e.textContent.slice(0,40)}`).slice(0, 20).join('\n')));
await browser.close();
