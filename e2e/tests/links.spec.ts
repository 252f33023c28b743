// The address bar holds the whole study.
import { expect, test } from '../harness/story.ts';
import { Studio } from '../harness/studio.ts';

const mine = '# é, mine\nmesh all:4\nlayout hidden:all\nmodel two_layer batch:8 io:4 hidden:8\n';

test('a link opens the same study elsewhere', async ({ page, browser, baseURL }) => {
  const studio = await new Studio(page).open();
  await studio.text.fill(mine);
  await expect(page).toHaveURL(/#1=/);
  await expect.poll(async () => {
    const address = page.url();
    const elsewhere = await browser.newContext({ baseURL });
    const other = await new Studio(await elsewhere.newPage()).open(address);
    const text = await other.text.inputValue();
    await elsewhere.close();
    return text;
  }).toBe(mine);
});

test('the link is copied', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const studio = await new Studio(page).open();
  await studio.text.fill(mine);
  await page.getByRole('button', { name: 'Copy link' }).click();
  await expect(page.getByRole('button', { name: 'Link copied' })).toBeVisible();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  await page.goto('about:blank');
  await page.goto(link);
  await expect(studio.text).toHaveValue(mine);
});

test('a readable address opens a study', async ({ page }) => {
  const studio = await new Studio(page).open('/?mesh=rows:2,cols:2&layout=batch:rows,hidden:cols&model=two_layer');
  await expect(studio.text).toHaveValue(/mesh rows:2[ ,]cols:2/);
  await expect.poll(() => studio.slices('h')).toEqual(['0', '1', '2', '3']);
});

test('a damaged link says so', async ({ page }) => {
  const studio = await new Studio(page).open('/#1=!!!!');
  await expect(page.getByRole('alert')).toContainText(/link/i);
  await expect(studio.card('h')).toBeVisible();
});

test('a study too long for a chat is kept under a short link', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const studio = await new Studio(page).open();
  // words that do not compress well
  const noise = Array.from({ length: 700 }, (_, i) => `# ${Math.sin(i).toString(36).slice(2)}`);
  const long = `${mine}${noise.join('\n')}\n`;
  await studio.text.fill(long);
  await page.getByRole('button', { name: 'Copy link' }).click();
  await page.getByRole('button', { name: 'Keep it on the server' }).click();
  await expect(page.getByRole('button', { name: 'Link copied' })).toBeVisible();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  expect(link.length).toBeLessThan(120);
  await page.goto('about:blank');
  await page.goto(link);
  await expect(studio.text).toHaveValue(long);
});
