// Starts the studio. The addresses are those of the source folder; `cargo xtask build` replaces
// them by names that carry a hash of their content.
import init, { start } from './meshwork.js';

await init();
start(new URL('./worker.js', import.meta.url).href);
