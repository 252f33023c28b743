// How the user stories run: one Chromium, the real server (harness/story.ts starts it).
import { defineConfig } from '@playwright/test';
import { browser } from './harness/browser.ts';

export default defineConfig({
  testDir: './tests',
  outputDir: './test-results/stories',
  fullyParallel: true,
  forbidOnly: !!process.env.CI,
  workers: 2,
  // slow machines are busy machines: wait rather than fail
  timeout: 90_000,
  expect: { timeout: 15_000 },
  reporter: [
    ['list'],
    ['json', { outputFile: process.env.MESHWORK_E2E_REPORT ?? 'test-results/report.json' }],
  ],
  use: browser,
});
