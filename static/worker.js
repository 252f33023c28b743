// The module worker that runs studies: the same WASM module as the page's.
import init, { worker_main } from './meshwork.js';

// Messages that arrive while the module loads wait for it: `worker_main` sets the handler, and
// these are dispatched to it again.
const early = [];
const keep = (event) => early.push(event.data);
self.addEventListener('message', keep);

await init();
self.removeEventListener('message', keep);
worker_main();
for (const data of early) self.dispatchEvent(new MessageEvent('message', { data }));
