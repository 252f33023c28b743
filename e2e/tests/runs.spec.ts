// Runs: here with the proof, on the server with an address of their own, on real data.
import { expect, test } from '../harness/story.ts';
import { Studio } from '../harness/studio.ts';

test('Run here trains with a live curve and proves the prediction', async ({ page }) => {
  const studio = await new Studio(page).open();
  await studio.example(/^Figure 4/);
  await studio.runHere();
  const run = page.locator('.pane-run');
  await expect(run.getByRole('status')).toHaveText('Done');
  await expect(run.locator('.chart .scene')).toBeVisible();
  await expect(run.locator('.proof td.verdict')).toHaveText(['equal', 'equal', 'equal']);
  await expect(run.locator('.proof')).toContainText('Largest difference');
  await expect(run.locator('.proof p.verdict.good')).toBeVisible();
  const counted = run.locator('.proof tbody td.number').first();
  expect(Number((await counted.innerText()).replaceAll(/\D/g, ''))).toBeGreaterThan(0);
  await run.getByRole('button', { name: 'Loss curve as a table' }).click();
  await expect(run.locator('.chart table')).toBeVisible();
});

test('a run here can be stopped', async ({ page }) => {
  const studio = await new Studio(page).open();
  const text = await studio.text.inputValue();
  await studio.text.fill(text.replace(/steps:\d+/, 'steps:1000000'));
  await page.getByRole('button', { name: 'Run here' }).click();
  await expect(page.locator('.pane-run .chart .scene')).toBeVisible();
  await page.locator('.pane-run').getByRole('button', { name: 'Stop' }).click();
  await expect(page.locator('.pane-run').getByRole('status')).toHaveText(/Stopped after/);
  await expect(page.getByRole('button', { name: 'Run here' })).toBeVisible();
});

test.describe('on the server', () => {
  test('a run streams, has its own address, and outlives the server', async ({ page, ownServer }) => {
    const studio = await new Studio(page).open(`${ownServer.url}/`);
    await studio.example(/^Figure 4/);
    const text = await studio.text.inputValue();
    await page.getByRole('button', { name: 'Run on server' }).click();
    await expect(page).toHaveURL(/\/runs\/[^/#]+#1=/);
    const there = page.locator('.pane-server .run-log');
    await expect(there.getByRole('status')).toHaveText('Done', { timeout: 60_000 });
    await expect(there.locator('.chart .scene')).toBeVisible();
    await expect(there.locator('.proof td.verdict')).toHaveText(['equal', 'equal', 'equal']);
    const loss = await there.locator('.run-facts dd').nth(1).innerText();

    const address = page.url().split('#')[0] ?? '';
    await ownServer.restart('SIGKILL');
    await page.goto('about:blank');
    await page.goto(address);
    await expect(studio.text).toHaveValue(text);
    await expect(there.getByRole('status')).toHaveText('Done');
    await expect(there.locator('.run-facts dd').nth(1)).toHaveText(loss);
    await expect(page.getByRole('list', { name: /newest first/ }).getByRole('button')).toHaveCount(1);
  });

  test('a run can be stopped, and the page goes back to it', async ({ page, ownServer }) => {
    const studio = await new Studio(page).open(`${ownServer.url}/`);
    const text = await studio.text.inputValue();
    await studio.text.fill(text.replace(/steps:\d+/, 'steps:900000'));
    await page.getByRole('button', { name: 'Run on server' }).click();
    const there = page.locator('.pane-server .run-log');
    await expect(there.locator('.chart .scene')).toBeVisible();
    await there.getByRole('button', { name: 'Stop' }).click();
    await expect(there.getByRole('status')).toHaveText(/Stopped after/);
    await page.goBack();
    await expect(there).toHaveCount(0);
    await page.goForward();
    await expect(there.getByRole('status')).toHaveText(/Stopped after/);
  });
});

test('iris is learnt, here and on the server', async ({ page }) => {
  const studio = await new Studio(page).open();
  await studio.example(/^Iris/);
  await studio.runHere();
  const accuracy = (pane: string) => page.locator(`${pane} .held-out dd`);
  await expect(page.locator('.pane-run .held-out dt')).toHaveText('accuracy');
  expect(parseFloat(await accuracy('.pane-run').innerText())).toBeGreaterThan(80);
  await page.getByRole('button', { name: 'Run on server' }).click();
  const there = page.locator('.pane-server .run-log');
  await expect(there.getByRole('status')).toHaveText('Done', { timeout: 60_000 });
  expect(parseFloat(await accuracy('.pane-server').innerText())).toBeGreaterThan(80);
});

test('a CSV file: bad ones are explained, good ones train', async ({ page, ownServer }) => {
  const studio = await new Studio(page).open(`${ownServer.url}/`);
  const file = (text: string) => ({ name: 'Houses.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });
  const input = page.locator('.pane-data input[type=file]');
  await input.setInputFiles(file('size,rooms,price\n1,2,3\n4,5\n'));
  await expect(page.locator('.pane-data .verdict.bad')).toContainText('line 3');
  await expect(page.locator('.table-choice', { hasText: 'houses' })).toHaveCount(0);
  const rows = Array.from({ length: 60 }, (_, i) => `${i},${i % 7},${2 * i + (i % 7)}`);
  await input.setInputFiles(file(`size,rooms,price\n${rows.join('\n')}\n`));
  await expect(page.locator('.pane-data .verdict.good')).toContainText('60 rows');
  await studio.text.fill(
    'mesh all:2\nlayout batch:all\nmodel mlp batch:8 in:2 hidden:8 out:1\ntrain optimizer:adam rate:0.01 steps:60 data:houses\n',
  );
  await studio.runHere();
  await expect(page.locator('.pane-run .held-out dt')).toHaveText('error');
});

test('without a server the studio says what to do', async ({ page }) => {
  await page.route('**/api/**', (route) => route.abort());
  await new Studio(page).open();
  await page.getByRole('button', { name: 'Run on server' }).click();
  await expect(page.getByRole('alert')).toContainText('cargo xtask serve');
});
