// The browser's half of `cargo xtask bench`: alone on the machine, one thing at a time.
import { defineConfig } from '@playwright/test';
import { browser } from '../harness/browser.ts';

export default defineConfig({
  testDir: '.',
  outputDir: '../test-results/bench',
  workers: 1,
  timeout: 300_000,
  reporter: 'line',
  use: { ...browser, trace: 'off', screenshot: 'off' },
});
