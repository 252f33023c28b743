// Text and clicks change the same study.
import { expect, test } from '../harness/story.ts';
import { Studio } from '../harness/studio.ts';

test('the mesh changes by clicks', async ({ page }) => {
  const studio = await new Studio(page).open();
  await page.getByRole('group', { name: 'Mesh presets' }).getByRole('button', { name: '2 × 2 × 2' }).click();
  await expect(studio.text).toHaveValue(/mesh rows:2 cols:2 planes:2/);
  await expect.poll(() => studio.slices('h')).toEqual(['0 1', '2 3', '4 5', '6 7']);
  await page.getByRole('button', { name: 'More: Size of mesh dimension rows' }).click();
  await expect(studio.text).toHaveValue(/rows:4/);
  await page.getByRole('button', { name: 'Remove mesh dimension planes' }).click();
  await expect(studio.text).not.toHaveValue(/planes/);
  const name = page.getByRole('textbox', { name: 'Name of mesh dimension cols' });
  await name.fill('columns');
  await name.press('Enter');
  await expect(studio.text).toHaveValue(/columns:2/);
  await expect(studio.text).toHaveValue(/hidden:columns/);
  await page.getByRole('button', { name: 'Add mesh dimension' }).click();
  await expect(page.locator('.pane-mesh .pane-fact')).toHaveText('16 processors');
});

test('the mesh changes by text, and comments stay', async ({ page }) => {
  const studio = await new Studio(page).open();
  await studio.text.fill('# mine\nmesh   all:4 # four\nlayout batch:all\nmodel two_layer batch:8 io:4 hidden:8\n');
  await expect.poll(() => studio.slices('x')).toEqual(['0', '1', '2', '3']);
  await page.getByRole('button', { name: 'Less: Size of mesh dimension all' }).click();
  await expect(studio.text).toHaveValue(/^# mine\nmesh {3}all:2 # four\n/);
});

test('the caret stays where it was when a click changes the text', async ({ page }) => {
  const studio = await new Studio(page).open();
  await studio.text.fill('mesh all:2\nmodel two_layer batch:8 io:4 hidden:8\n');
  await studio.text.press('Control+End');
  await page.getByRole('button', { name: 'More: Size of mesh dimension all' }).click();
  await studio.text.focus();
  await page.keyboard.type('# end');
  await expect(studio.text).toHaveValue(/hidden:8\n# end$/);
});

test('broken text keeps the last picture, and a mend repairs it', async ({ page }) => {
  const studio = await new Studio(page).open();
  await studio.text.fill('mesh rows=2 cols:2\nlayout batch:rows\nmodel two_layer batch:8 io:4 hidden:8\n');
  const error = studio.messages.locator('.message.error').first();
  await expect(error).toContainText('line 1');
  await expect(page.getByText('this is the last study that could be read')).toBeVisible();
  await expect(studio.card('h').locator('.scene')).toBeVisible();
  await error.getByText('Why?').click();
  await expect(error.locator('.why p')).toBeVisible();
  await error.getByRole('button', { name: /plain/ }).click();
  await expect(studio.text).toHaveValue(/^mesh rows:2 cols:2/);
  await expect(studio.messages.locator('.message.error')).toHaveCount(0);
  await expect(page.getByText('this is the last study that could be read')).toHaveCount(0);
});

test('the layout grid works by keyboard alone', async ({ page }) => {
  const studio = await new Studio(page).open();
  await studio.text.fill('mesh rows:2 cols:2\nlayout\nmodel two_layer batch:8 io:4 hidden:8\n');
  await studio.cell('batch', 'rows').focus();
  await page.keyboard.press('Space');
  await expect(studio.text).toHaveValue(/layout batch:rows\n/);
  await expect(studio.cell('batch', 'rows')).toHaveAttribute('aria-selected', 'true');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowRight');
  await expect(studio.cell('hidden', 'cols')).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(studio.text).toHaveValue(/layout batch:rows hidden:cols\n/);
  await expect.poll(() => studio.slices('h')).toEqual(['0', '1', '2', '3']);
  // a cell that would be illegal says so before it is chosen
  await page.keyboard.press('ArrowLeft');
  await expect(studio.cell('hidden', 'rows')).toHaveAccessibleName(/cannot|Not possible/);
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Space');
  await expect(studio.text).toHaveValue(/layout batch:rows\n/);
});

test('the layout changes by menus', async ({ page }) => {
  const studio = await new Studio(page).open();
  await page.getByRole('button', { name: 'Menus' }).click();
  await page.getByRole('combobox', { name: 'Split io over' }).selectOption('rows');
  await expect(studio.text).toHaveValue(/io:rows/);
  await page.getByRole('combobox', { name: 'Split io over' }).selectOption('');
  await expect(studio.text).not.toHaveValue(/io:rows/);
});

test('sizes change in the grid', async ({ page }) => {
  const studio = await new Studio(page).open();
  await page.locator('.layout-grid').getByRole('button', { name: 'More: Size of batch' }).click();
  await expect(studio.text).toHaveValue(/batch:16/);
  await expect(studio.card('x').locator('.shape')).toHaveText('[batch:16 io:4]');
});

test('undo and redo go over typing and clicks', async ({ page }) => {
  const studio = await new Studio(page).open();
  const before = await studio.text.inputValue();
  await page.getByRole('button', { name: 'More: Size of mesh dimension rows' }).click();
  const clicked = await studio.text.inputValue();
  await studio.text.press('Control+End');
  await page.keyboard.type('# words');
  await expect(studio.text).toHaveValue(`${clicked}# words`);
  await page.keyboard.press('Control+z');
  await expect(studio.text).toHaveValue(clicked);
  await page.getByRole('button', { name: 'Undo' }).click();
  await expect(studio.text).toHaveValue(before);
  await expect(page.getByRole('button', { name: 'Undo' })).toBeDisabled();
  await page.keyboard.press('Control+Shift+Z');
  await expect(studio.text).toHaveValue(clicked);
  await page.getByRole('button', { name: 'Redo' }).click();
  await expect(studio.text).toHaveValue(`${clicked}# words`);
});

test('a processor picked anywhere is lit everywhere', async ({ page }) => {
  const studio = await new Studio(page).open();
  const lit = (where: string) =>
    page.locator(`${where} [data-p]`).evaluateAll((marks) =>
      marks
        .filter((m) => getComputedStyle(m).getPropertyValue('--lit').trim() !== '')
        .map((m) => m.getAttribute('data-p')),
    );
  await studio.clickMark(studio.card('h'), '2');
  await page.mouse.move(0, 0);
  await expect(page.locator('.inspector')).toContainText('Processor 2');
  await expect(page.locator('.inspector')).toContainText('rows 1, cols 0');
  expect([...new Set(await lit('[id="tensor-x"]'))]).toEqual(['2 3']);
  expect([...new Set(await lit('[id="tensor-h"]'))]).toEqual(['2']);
  expect([...new Set(await lit('.mesh-picture'))]).toEqual(['2']);
  const mesh = page.getByRole('group', { name: /Arrow keys pick a processor/ });
  await mesh.press('ArrowRight');
  await expect(page.locator('.inspector')).toContainText('Processor 3');
  await studio.card('x').getByRole('button', { name: 'x as a table' }).click();
  await expect(studio.card('x').getByRole('table')).toBeVisible();
  expect(await lit('[id="tensor-x"]')).toEqual(['2 3']);
});

test('a collective says why and shows its tensors', async ({ page }) => {
  const studio = await new Studio(page).open();
  const forward = page.getByRole('group', { name: 'Phase' }).getByRole('button', { name: /forward/ });
  await forward.click();
  const first = page.locator('.collective').first();
  await expect(first).toContainText('Allreduce');
  await expect(first.locator('.collective-why')).toContainText('hidden:cols');
  await first.click();
  await expect(studio.page.locator('.card.marked')).not.toHaveCount(0);
});

test('a study that does not fit its hardware is made to fit', async ({ page }) => {
  const studio = await new Studio(page).open();
  const text = 'hardware memory:1KiB # small\nmodel two_layer batch:8 io:4 hidden:8\ntrain rate:0.1\n';
  await studio.text.fill(text);
  const message = studio.messages.locator('.message.warning');
  await expect(message).toContainText(/A processor holds 1\.\d kB at its peak, and hardware says 1 kB/);
  await message.getByRole('button', { name: 'Look for what makes it fit' }).click();
  await message.getByRole('list', { name: 'Mends' }).getByRole('button').first().click();
  await expect(studio.text).toHaveValue(/mesh model:2[\s\S]*hardware memory:1KiB # small/);
  await expect(studio.messages.locator('.message')).toHaveCount(0);
  await page.keyboard.press('Control+z');
  await expect(studio.text).toHaveValue(text);
});
