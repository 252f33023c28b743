// Calls the studio's own benchmark and leaves its numbers for `cargo xtask bench`.
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { expect, test } from '../harness/story.ts';

declare global {
  interface Window {
    // Measures and returns numbers by name, as an object or as its JSON.
    meshworkBench?: () => unknown;
  }
}

test('the studio measures itself', async ({ page }) => {
  const out = process.env.MESHWORK_BENCH ?? 'test-results/bench.json';
  await page.goto('/');
  await page.waitForFunction(() => typeof window.meshworkBench === 'function');
  const measured = await page.evaluate(() => window.meshworkBench?.());
  const text = typeof measured === 'string' ? measured : JSON.stringify(measured);
  expect(Object.keys(JSON.parse(text)).length).toBeGreaterThan(0);
  await mkdir(dirname(out), { recursive: true });
  await writeFile(out, text);
});
