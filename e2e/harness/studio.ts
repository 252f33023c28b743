// What stories do in the studio, in the words of its users.
import { type Locator, type Page, expect } from '@playwright/test';

export class Studio {
  readonly text: Locator;
  readonly grid: Locator;
  readonly messages: Locator;

  constructor(readonly page: Page) {
    this.text = page.getByRole('textbox', { name: 'Study text' });
    this.grid = page.getByRole('grid');
    this.messages = page.locator('.message-list');
  }

  // Opens an address of the studio and waits until it is there, without the introduction.
  async open(path = '/'): Promise<this> {
    await this.page.addInitScript(() => {
      if (location.protocol.startsWith('http')) localStorage.setItem('meshwork.intro', 'dismissed');
    });
    await this.page.goto(path);
    await expect(this.page.getByRole('heading', { level: 1, name: 'Meshwork' })).toBeVisible();
    return this;
  }

  async example(title: string | RegExp): Promise<void> {
    await this.page.getByRole('button', { name: 'Examples' }).click();
    await this.page.locator('#examples-menu').getByRole('button', { name: title }).click();
  }

  // The card of a tensor.
  card(name: string): Locator {
    return this.page.locator(`[id="tensor-${name}"]`);
  }

  // The processors of each slice of a tensor, as its picture says: the distinct holders, sorted.
  async slices(name: string): Promise<string[]> {
    await expect(this.card(name).locator('svg.scene')).toBeVisible();
    const marks = this.card(name).locator('svg.scene [data-p]:not(text)');
    const holders = await marks.evaluateAll((all) => all.map((m) => m.getAttribute('data-p') ?? ''));
    return [...new Set(holders)].sort();
  }

  // The part of the page a narrow screen shows.
  async tab(name: string): Promise<void> {
    await this.page.getByRole('navigation').getByRole('button', { name }).click();
  }

  cell(dim: string, meshDim: string): Locator {
    return this.grid.getByRole('gridcell', { name: new RegExp(`^${dim} over ${meshDim}:`) });
  }

  // Runs here and waits for the end.
  async runHere(): Promise<void> {
    await this.page.getByRole('button', { name: 'Run here' }).click();
    await expect(this.page.locator('.pane-run .proof')).toBeVisible({ timeout: 60_000 });
  }
}
