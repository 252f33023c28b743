// The first thing anyone does: open the address.
import { expect, expectAccessible, test } from '../harness/story.ts';

test('the page opens and everyone can use it', async ({ page }) => {
  await page.goto('/');
  await expect(page.getByRole('heading', { level: 1, name: 'Meshwork' })).toBeVisible();
  await expect(page).toHaveTitle(/Meshwork/);
  await expectAccessible(page);
});
