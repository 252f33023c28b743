// The real server: the release binary on a free port, with a data folder of its own.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const binary = process.env.MESHWORK_BIN ?? resolve(import.meta.dirname, '../../target/release/meshwork');
const patience = 30_000;

export class Server {
  // The address, without a slash at its end.
  url = '';
  private child?: ChildProcess;

  private constructor(readonly data: string) {}

  // Starts a server on a free port.
  static async start(): Promise<Server> {
    if (!existsSync(binary)) throw new Error(`${binary} is missing: cargo xtask build`);
    const server = new Server(await mkdtemp(join(tmpdir(), 'meshwork-e2e-')));
    await server.spawn('127.0.0.1:0');
    return server;
  }

  // Ends it and starts it again at the same address, with the same data.
  // 'SIGKILL' takes it down without a chance to tidy up.
  async restart(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    await this.end(signal);
    await this.spawn(new URL(this.url).host);
  }

  // Ends it and removes its data.
  async stop(): Promise<void> {
    await this.end('SIGTERM');
    await rm(this.data, { recursive: true, force: true });
  }

  private async spawn(listen: string): Promise<void> {
    const child = spawn(binary, ['serve', '--listen', listen, '--data', this.data], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child = child;
    this.url = await new Promise((found, failed) => {
      let said = '';
      const fail = (why: string) => failed(new Error(`the server ${why}. It said:\n${said}`));
      const timer = setTimeout(() => fail(`printed no address for ${patience} ms`), patience);
      child.once('error', (error) => fail(`did not start: ${error.message}`));
      child.once('exit', (code) => fail(`ended with status ${code}`));
      // the address it prints; the rest is read, too, or the pipe would fill and the server wait
      for (const output of [child.stdout, child.stderr]) {
        output.setEncoding('utf8').on('data', (text: string) => {
          said = (said + text).slice(-10_000);
          const address = /https?:\/\/[^\s/]+:\d+(?=[\s/])/.exec(said);
          if (address) {
            clearTimeout(timer);
            found(address[0]);
          }
        });
      }
    });
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), patience);
    await ended;
    clearTimeout(timer);
  }
}
