// The browser that stories and benchmarks share.
import type { PlaywrightTestConfig } from '@playwright/test';

// Quiet: nothing is fetched but the page. Without a sandbox, since tests may run as root.
const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export const browser: NonNullable<PlaywrightTestConfig['use']> = {
  browserName: 'chromium',
  viewport: { width: 1280, height: 800 },
  locale: 'en-GB',
  trace: 'retain-on-failure',
  screenshot: 'only-on-failure',
  launchOptions: {
    // `cargo xtask` names the system's Chromium here; without it Playwright takes its own
    executablePath: process.env.CHROMIUM || undefined,
    args,
  },
};
