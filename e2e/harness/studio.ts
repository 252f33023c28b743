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
    return [...(await this.marks(this.card(name))).keys()].sort();
  }

  // Clicks the mark of the picture in this place that stands for exactly these processors.
  async clickMark(place: Locator, holders: string): Promise<void> {
    const at = (await this.marks(place)).get(holders);
    expect(at, `a mark for ${holders}`).toBeDefined();
    await place.locator('.scene').click({ position: at });
  }

  // What a pointer finds in a picture: all holders of its marks, and a place inside each. A mark
  // counts where the canvas is painted.
  async marks(place: Locator): Promise<Map<string, { x: number; y: number }>> {
    const scene = place.locator('.scene');
    await expect(scene).toBeVisible();
    await scene.scrollIntoViewIfNeeded();
    const found = await scene.evaluate((scene) => {
      const step = 5;
      const canvas = scene.querySelector('canvas')!;
      const box = scene.getBoundingClientRect();
      const { data, width } = canvas
        .getContext('2d')!
        .getImageData(0, 0, canvas.width, canvas.height);
      const scale = canvas.width / canvas.getBoundingClientRect().width;
      const isPainted = (x: number, y: number) =>
        data[4 * (Math.floor(y * scale) * width + Math.floor(x * scale)) + 3] > 0;
      const places = new Map<string, { x: number; y: number }[]>();
      for (let y = step / 2; y < box.height; y += step) {
        for (let x = step / 2; x < box.width; x += step) {
          const [clientX, clientY] = [box.left + x, box.top + y];
          scene.dispatchEvent(new PointerEvent('pointermove', { clientX, clientY }));
          const holders = scene.getAttribute('data-p');
          if (holders !== null && isPainted(x, y)) {
            places.set(holders, [...(places.get(holders) ?? []), { x, y }]);
          }
        }
      }
      scene.dispatchEvent(new PointerEvent('pointerleave'));
      return [...places].map(([holders, all]) => [holders, all[Math.floor(all.length / 2)]] as const);
    });
    return new Map(found);
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
