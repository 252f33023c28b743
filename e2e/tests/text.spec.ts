// Text: the built-in one is trained on in the browser and on the server, and the models write.
import { expect, test } from '../harness/story.ts';
import { Studio } from '../harness/studio.ts';

const tiny = (data: string) => `mesh all:2
layout batch:all
model transformer batch:4 length:16 vocab:256 d_model:16 heads:2 layers:1 d_ff:32
train optimizer:adam rate:0.01 steps:30 seed:1 ${data}
`;

test('the built-in text: perplexity, then a sample, here and on the server', async ({ page }) => {
  const studio = await new Studio(page).open();
  await studio.text.fill(tiny('data:teacher'));
  await expect(studio.messages).toContainText('this study has one');
  await page.locator('.table-choice', { hasText: 'sources' }).click();
  await expect(studio.text).toHaveValue(/data:sources/);
  await studio.runHere();
  const here = page.locator('.pane-run .run-log');
  await expect(here.locator('.held-out dt')).toHaveText(['perplexity per token', 'per word']);
  const perplexity = parseFloat(await here.locator('.held-out dd').first().innerText());
  expect(perplexity).toBeGreaterThan(2);
  expect(perplexity).toBeLessThan(200);

  await here.getByLabel('Text to go on from').fill('pub fn ');
  await here.getByLabel('Tokens').fill('20');
  await here.getByRole('button', { name: 'Write' }).click();
  await expect(here.locator('.sample-text')).toContainText('pub fn ', { timeout: 30_000 });
  expect((await here.locator('.sample-text').innerText()).length).toBeGreaterThan(10);

  await page.getByRole('button', { name: 'Run on server' }).click();
  const there = page.locator('.pane-server .run-log');
  await expect(there.getByRole('status')).toHaveText('Done', { timeout: 60_000 });
  // The same but for the rounding of other kernels.
  const same = parseFloat(await there.locator('.held-out dd').first().innerText());
  expect(Math.abs(same / perplexity - 1)).toBeLessThan(0.02);
  await there.getByLabel('Text to go on from').fill('let ');
  await there.getByRole('button', { name: 'Write' }).click();
  await expect(there.locator('.sample-text')).toContainText('let ', { timeout: 30_000 });
});

test('an uploaded text: a bad one is explained, a good one is read by byte pairs', async ({ page, ownServer }) => {
  const studio = await new Studio(page).open(`${ownServer.url}/`);
  const input = page.locator('.pane-data input[type=file]');
  const file = (buffer: Buffer) => ({ name: 'Verse.txt', mimeType: 'text/plain', buffer });
  await input.setInputFiles(file(Buffer.from([0x61, 0x0a, 0xff])));
  await expect(page.locator('.pane-data .verdict.bad')).toContainText('byte 2 (0xff) is not UTF-8');
  await input.setInputFiles(file(Buffer.from('one two three four five six\n'.repeat(300))));
  await expect(page.locator('.pane-data .verdict.good')).toContainText('300 lines');
  await studio.text.fill(tiny('data:verse tokens:bpe').replace('vocab:256', 'vocab:260'));
  await studio.runHere();
  await expect(page.locator('.pane-run .held-out dt').first()).toHaveText('perplexity per token');
});

test('pairs are translated', async ({ page }) => {
  const studio = await new Studio(page).open();
  await studio.example(/^Translation/);
  await studio.text.fill((await studio.text.inputValue()).replace('steps:300', 'steps:4'));
  await page.getByRole('button', { name: 'Run on server' }).click();
  const there = page.locator('.pane-server .run-log');
  await expect(there.getByRole('status')).toHaveText('Done', { timeout: 60_000 });
  await expect(there.locator('.held-out dt').last()).toHaveText('BLEU');
  await there.getByLabel('Text to translate').fill('347');
  await there.getByRole('button', { name: 'Write' }).click();
  await expect(there.locator('.sample-text')).toContainText('347 →', { timeout: 30_000 });
});
