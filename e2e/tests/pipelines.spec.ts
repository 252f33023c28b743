// Pipelines: what they cost, who does what when, and clicks that change the text.
import { readFile } from 'node:fs/promises';
import { type Page } from '@playwright/test';
import { expect, expectAccessible, test } from '../harness/story.ts';
import { Studio } from '../harness/studio.ts';

const PIPELINE = `# mine
mesh stages:4 # cells
model mlp batch:32 in:16 hidden:16 depth:7 out:16
train optimizer:sgd rate:0.1 steps:10
pipeline over:stages micro_batches:4 # cut
`;

const pane = (page: Page) => page.locator('.pane-pipeline');

// The value of a figure: `27.3 %`.
const figure = (page: Page, name: string) =>
  pane(page).locator('.pipeline-facts div').filter({ has: page.getByText(name, { exact: true }) }).locator('.value');

const percent = async (page: Page, name: string) => parseFloat(await figure(page, name).innerText());

// What the picture says to those who do not see it.
const said = (page: Page) => pane(page).locator('.timeline').first().getByRole('img');

const slider = (page: Page) => pane(page).getByRole('slider', { name: 'Time' });

const cells = (page: Page) => pane(page).locator('.moment-cells tbody tr');

test('a pipeline from the menu has a pane, a study without one has none', async ({ page }) => {
  const studio = await new Studio(page).open();
  await expect(pane(page)).toHaveCount(0);
  await studio.example(/GPipe on four cells/);
  await expect(pane(page).getByRole('heading', { name: 'Pipeline' })).toBeVisible();
  await expect(pane(page).locator('.pane-fact').first()).toHaveText('4 cells, 8 micro-batches');
  await expect(said(page)).toHaveAccessibleName(/gpipe, 4 cells, 8 micro-batches: \d+ % of the time idle\. 4 cells/);
  await expect(cells(page)).toHaveCount(4);
  await expect(page.locator('.pane-tensors')).toContainText('one micro-batch: 8 of the 64 rows of batch');
  await expect(studio.card('h1').locator('.card-foot')).toContainText('cell 0');
  await studio.example(/^Figure 4/);
  await expect(pane(page)).toHaveCount(0);
});

test('typing makes a pipeline, and so does a click', async ({ page }) => {
  const studio = await new Studio(page).open();
  await studio.text.fill(PIPELINE);
  await expect(pane(page).locator('.pane-fact').first()).toHaveText('4 cells, 4 micro-batches');
  await studio.text.fill('mesh rows:2\nlayout batch:rows\nmodel mlp batch:16 depth:5 # deep\ntrain\n');
  await expect(pane(page)).toHaveCount(0);
  await page.getByRole('button', { name: 'Make it a pipeline' }).click();
  await expect(studio.text).toHaveValue(
    'mesh stages:2 rows:2\nlayout batch:rows\nmodel mlp batch:16 depth:5 # deep\ntrain\npipeline over:stages micro_batches:8\n',
  );
  await expect(pane(page).locator('.pane-fact').first()).toHaveText('2 cells, 8 micro-batches');
  await expect(page.getByRole('button', { name: 'Make it a pipeline' })).toHaveCount(0);
});

test('more micro-batches make the bubble smaller, in numbers and picture', async ({ page }) => {
  const studio = await new Studio(page).open();
  await studio.text.fill(PIPELINE);
  await expect(pane(page).locator('.pipeline-words')).toContainText('with 16 micro-batches');
  await expect(pane(page).locator('.pipeline-words')).toContainText('5 cells would idle');
  const before = [await percent(page, 'Bubble of the makespan'), await percent(page, 'Bubble of the ideal')];
  const picture = await said(page).getAttribute('aria-label');
  await pane(page).getByRole('button', { name: 'More: Micro-batches' }).click();
  await expect(studio.text).toHaveValue(/micro_batches:8 # cut\n$/);
  await expect.poll(() => percent(page, 'Bubble of the makespan')).toBeLessThan(before[0]);
  expect(await percent(page, 'Bubble of the ideal')).toBeLessThan(before[1]);
  await expect(said(page)).not.toHaveAccessibleName(picture!);
  const share = await percent(page, 'Bubble of the makespan');
  const ideal = await percent(page, 'Bubble of the ideal');
  expect(ideal).toBeCloseTo((100 * share) / (100 - share), 0);
});

test('another schedule is chosen; one that does not go says why', async ({ page }) => {
  const studio = await new Studio(page).open();
  await studio.text.fill(PIPELINE.replace('micro_batches:4', 'micro_batches:2'));
  const menu = pane(page).getByRole('combobox', { name: 'Schedule' });
  await expect(menu.locator('option[value="1f1b"]')).toBeDisabled();
  await expect(menu.locator('option[value="1f1b"]')).toHaveText('✕ 1f1b (does not fit)');
  await pane(page).getByText('What each schedule does').click();
  await expect(pane(page).locator('.schedules li').filter({ hasText: '1f1b' }).first()).toContainText(
    'at least 4 micro-batches, not 2',
  );
  await pane(page).getByRole('button', { name: 'More: Micro-batches' }).click();
  await menu.selectOption('1f1b');
  await expect(studio.text).toHaveValue(/micro_batches:4 schedule:1f1b # cut/);
  await expect(said(page)).toHaveAccessibleName(/^1f1b, 4 cells/);
  const peak = await figure(page, 'Peak memory').innerText();
  await pane(page).getByRole('combobox', { name: /remat/ }).selectOption('on');
  await expect(studio.text).toHaveValue(/schedule:1f1b remat:on # cut/);
  await expect(figure(page, 'Peak memory')).not.toHaveText(peak);
  await pane(page).getByRole('combobox', { name: /remat/ }).selectOption('off');
  await expect(studio.text).not.toHaveValue(/remat/);
});

test('boundaries move by keyboard, and the even cut comes back', async ({ page }) => {
  const studio = await new Studio(page).open();
  await studio.text.fill(PIPELINE);
  const more = pane(page).getByRole('button', { name: 'Boundary after stage 0: a layer more' });
  const first = await pane(page).locator('.stage-layers').first().innerText();
  await more.focus();
  await page.keyboard.press('Enter');
  await expect(studio.text).toHaveValue(/balance:\(\d \d \d \d\) # cut/);
  await expect(more).toBeFocused();
  await expect(pane(page).locator('.stage-layers').first()).not.toHaveText(first);
  await expect(pane(page).locator('.cut-head').first()).toContainText('counted by hand');
  await pane(page).getByRole('button', { name: 'Cut evenly' }).click();
  await expect(studio.text).toHaveValue(PIPELINE);
  await expect(pane(page).locator('.stage-layers').first()).toHaveText(first);
});

test('the time is scrubbed by keyboard, and every cell says what it does', async ({ page }) => {
  const studio = await new Studio(page).open();
  await studio.text.fill(PIPELINE);
  await slider(page).focus();
  await page.keyboard.press('Home');
  await expect(cells(page).nth(0)).toContainText('forward of micro-batch 0');
  await expect(cells(page).nth(1)).toContainText('waits for cell 0 to do the forward of micro-batch 0');
  const line = pane(page).locator('.timeline-now');
  const start = (await line.boundingBox())!.x;
  const held = await cells(page).nth(0).locator('.number').innerText();
  await page.keyboard.press('ArrowRight');
  await expect(cells(page).nth(0)).toContainText('forward of micro-batch 1');
  await expect(cells(page).nth(0).locator('.number')).not.toHaveText(held);
  expect((await line.boundingBox())!.x).toBeGreaterThan(start);
  await pane(page).getByRole('button', { name: 'Back to the change before' }).click();
  await expect(cells(page).nth(0)).toContainText('forward of micro-batch 0');
  await slider(page).focus();
  await page.keyboard.press('End');
  await expect(cells(page).nth(3)).toContainText('has done all of its tasks');
  await expect(slider(page)).toHaveAttribute('aria-valuetext', /of .* flop/);
});

test('the table says what the picture says', async ({ page }) => {
  const studio = await new Studio(page).open();
  await studio.text.fill(PIPELINE);
  await pane(page).getByRole('button', { name: 'Pipeline as a table' }).click();
  const table = pane(page).getByRole('table', { name: /What each cell does/ });
  await expect(table).toContainText('0F0 0F1 0F2 0F3 wait');
  await expect(table.getByRole('columnheader', { name: 'holds at most' })).toBeVisible();
});

test('a number that is not legal comes with a mend', async ({ page }) => {
  const studio = await new Studio(page).open();
  await studio.text.fill(PIPELINE.replace('micro_batches:4', 'micro_batches:2 schedule:1f1b'));
  const error = studio.messages.locator('.message.error').first();
  await expect(error).toContainText('at least 4 micro-batches, not 2');
  await error.getByRole('button', { name: 'Take 4.' }).click();
  await expect(studio.text).toHaveValue(/micro_batches:4 schedule:1f1b/);
  await expect(said(page)).toHaveAccessibleName(/^1f1b, 4 cells, 4 micro-batches/);
  // layers counted for another number of cells can be counted by the engine again
  await studio.text.fill(PIPELINE.replace('# cut', 'balance:(1 1)'));
  await studio.messages.getByRole('button', { name: 'Take the most even cut.' }).click();
  await expect(studio.text).not.toHaveValue(/balance/);
  await expect(pane(page)).toBeVisible();
});

test('a run is measured beside the prediction', async ({ page }) => {
  const studio = await new Studio(page).open();
  await studio.text.fill(PIPELINE);
  await expect(pane(page).locator('.measured')).toContainText('Run the study');
  await studio.runHere();
  const measured = pane(page).locator('.measured-run');
  await expect(measured.locator('.beside tbody tr')).toHaveCount(3);
  await expect(measured.getByRole('img')).toHaveAccessibleName(/measured: \d+ % of the time idle\. 4 cells/);
  await expect(measured.locator('.beside')).toContainText('ms');
  await studio.text.press('Control+End');
  await page.keyboard.type('# more');
  await expect(measured).toContainText('The study has been changed since this run');
});

test('the model is cut by the times that were measured, and by operations again', async ({ page }) => {
  const studio = await new Studio(page).open();
  await studio.text.fill(PIPELINE);
  await studio.runHere();
  await pane(page).getByRole('button', { name: 'Cut by these times' }).click();
  await expect(studio.text).toHaveValue(/costs:\([\d. e-]+\) # cut/);
  await expect(pane(page).locator('.cut-head').first()).toContainText('by the costs given');
  await expect(slider(page)).toHaveAttribute('aria-valuetext', /of [^0].* units/);
  await pane(page).getByRole('button', { name: 'Cut by operations' }).click();
  await expect(studio.text).toHaveValue(PIPELINE);
  await expect(slider(page)).toHaveAttribute('aria-valuetext', /of .* flop/);
});

test('the timeline is saved as a trace', async ({ page }) => {
  const studio = await new Studio(page).open();
  await studio.text.fill(PIPELINE);
  const saved = page.waitForEvent('download');
  await pane(page).getByRole('button', { name: 'Save as trace' }).click();
  const file = await saved;
  expect(file.suggestedFilename()).toBe('pipeline.json');
  const trace = JSON.parse(await readFile(await file.path(), 'utf8'));
  const tasks = trace.traceEvents.filter((event: { ph: string }) => event.ph === 'X');
  expect(tasks).toHaveLength(4 * 4 * 2);
  expect(tasks.map((event: { name: string }) => event.name)).toContain('3B0');
});

for (const theme of ['light', 'dark'] as const) {
  for (const width of [1440, 360]) {
    test(`everyone can use it: ${theme}, ${width} px`, async ({ page }) => {
      await page.emulateMedia({ colorScheme: theme });
      await page.setViewportSize({ width, height: 900 });
      const studio = await new Studio(page).open();
      await studio.example(/GPipe on four cells/);
      if (width < 760) await studio.tab('Pictures');
      await expect(pane(page)).toBeVisible();
      await pane(page).getByText('What each schedule does').click();
      await expectAccessible(page);
      const wide = await page.locator('.column:visible').evaluateAll((columns) =>
        columns.filter((c) => c.scrollWidth > c.clientWidth).map((c) => c.className),
      );
      expect(wide).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
      const shots = process.env.MESHWORK_SHOTS;
      if (shots) await pane(page).screenshot({ path: `${shots}/pipeline-${theme}-${width}.png` });
    });
  }
}
