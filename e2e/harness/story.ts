// What every story starts from: `test` with a server, and a look at accessibility.
import AxeBuilder from '@axe-core/playwright';
import { type Page, test as base, expect } from '@playwright/test';
import { Server } from './server.ts';

export { expect };

interface PerTest {
  // A server for this test alone, for stories that restart it or fill its lists.
  ownServer: Server;
}

interface PerWorker {
  // A server shared by the tests of one worker. `page.goto('/')` goes to it.
  server: Server;
}

export const test = base.extend<PerTest, PerWorker>({
  server: [
    async ({}, use) => {
      const server = await Server.start();
      await use(server);
      await server.stop();
    },
    { scope: 'worker' },
  ],
  ownServer: async ({}, use) => {
    const server = await Server.start();
    await use(server);
    await server.stop();
  },
  baseURL: async ({ server }, use) => {
    await use(server.url);
  },
  // No story is well when the page threw an error meanwhile.
  page: async ({ page }, use) => {
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(error.stack ?? error.message));
    page.on('console', (message) => {
      if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) {
        errors.push(message.text());
      }
    });
    await use(page);
    expect(errors, 'errors in the page').toEqual([]);
  },
});

// Fails with a readable list when axe finds anything wrong with the view as it is now.
export async function expectAccessible(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  const found = violations.map(({ id, help, nodes }) => ({
    rule: `${id}: ${help}`,
    at: nodes.map((node) => `${node.target.join(' ')} · ${node.failureSummary ?? ''}`),
  }));
  expect(found, 'accessibility').toEqual([]);
}
