import { benchHeldLocks } from './held-locks.js';
import { benchTransports } from './transports.js';
import { benchWriter } from './writer.js';

const BENCHES = { writer: benchWriter, transports: benchTransports, 'held-locks': benchHeldLocks };

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in BENCHES));
if (unknown.length > 0) {
  console.error(`No benchmark is named ${unknown.join(', ')}: there are ${Object.keys(BENCHES).join(', ')}`);
  process.exitCode = 2;
} else {
  for (const [name, bench] of Object.entries(BENCHES)) {
    if (wanted.length === 0 || wanted.includes(name)) await bench();
  }
}
