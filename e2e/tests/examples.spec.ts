// The paper's examples: each tensor is cut as the captions of Figures 2–5 say.
import { expect, test } from '../harness/story.ts';
import { Studio } from '../harness/studio.ts';

// Per example the holders of each tensor's slices; `all` is every processor.
const figures: [string, Record<string, string[]>][] = [
  ['Empty layout', { x: ['all'], w: ['all'], h: ['all'], v: ['all'], y: ['all'] }],
  ['Figure 2', { x: ['0', '1'], w: ['all'], h: ['0', '1'], v: ['all'], y: ['0', '1'] }],
  ['Figure 3', { x: ['all'], w: ['0', '1'], h: ['0', '1'], v: ['0', '1'], y: ['all'] }],
  [
    'Figure 4',
    {
      x: ['0 1', '2 3'],
      w: ['0 2', '1 3'],
      h: ['0', '1', '2', '3'],
      v: ['0 2', '1 3'],
      y: ['0 1', '2 3'],
    },
  ],
  [
    'Figure 5',
    {
      x: ['0 2', '1 3', '4 6', '5 7'],
      w: ['0 4', '1 5', '2 6', '3 7'],
      h: ['0 1', '2 3', '4 5', '6 7'],
      v: ['0 4', '1 5', '2 6', '3 7'],
      y: ['0 2', '1 3', '4 6', '5 7'],
    },
  ],
];

for (const [title, tensors] of figures) {
  test(`${title}: every slice on its processors`, async ({ page }) => {
    const studio = await new Studio(page).open();
    await studio.example(new RegExp(`^${title}`));
    for (const [name, slices] of Object.entries(tensors)) {
      await expect.poll(() => studio.slices(name), { message: name }).toEqual(slices);
    }
  });
}

test('the illegal layout says why, where, and how to mend it', async ({ page }) => {
  const studio = await new Studio(page).open();
  await studio.example('An illegal layout');
  await expect(studio.card('h').locator('.card-reason')).toContainText('hidden');
  await expect(studio.cell('batch', 'all')).toHaveClass(/illegal/);
  await expect(studio.cell('hidden', 'all')).toHaveClass(/illegal/);
  await studio.messages.getByRole('button', { name: /leave .*hidden.* whole/i }).click();
  await expect(studio.messages.locator('.message.error')).toHaveCount(0);
  await expect.poll(() => studio.slices('h')).toEqual(['0', '1']);
});

test('a newcomer begins with the examples', async ({ page }) => {
  await page.goto('/');
  await expect(page.getByRole('heading', { name: /what happens/ })).toBeVisible();
  await page.getByRole('list', { name: 'Examples to begin with' }).getByRole('button', { name: /Figure 2/ }).click();
  await expect(page.getByLabel('Study text')).toHaveValue(/batch:all/);
  await page.getByRole('button', { name: 'Close the introduction' }).click();
  await page.reload();
  await expect(page.getByRole('heading', { name: 'Tensors' })).toBeVisible();
  await expect(page.getByRole('heading', { name: /what happens/ })).toHaveCount(0);
});

test('the picture of the README', async ({ page }) => {
  const studio = await new Studio(page).open();
  await studio.example(/^Figure 5/);
  await studio.clickMark(page.locator('.mesh-picture'), '5');
  await expect(page.locator('.inspector')).toContainText('Processor 5');
  await page.mouse.move(0, 0);
  await page.screenshot({ path: '../docs/images/studio.png' });
});
