import { benchDurability, commitGroups } from './durability.js';
import { benchHeldLocks } from './held-locks.js';
import { benchHistory } from './history.js';
import { benchPostgresql } from './postgresql.js';
import { benchSnapshots } from './snapshots.js';
import { benchStart } from './start.js';
import { benchTransports } from './transports.js';
import { benchWaiting } from './waiting.js';
import { benchWatch } from './watch.js';
import { benchWriter } from './writer.js';

const BENCHES = {
  start: benchStart,
  writer: benchWriter,
  transports: benchTransports,
  watch: benchWatch,
  'held-locks': benchHeldLocks,
  durability: benchDurability,
  postgresql: benchPostgresql,
  history: benchHistory,
  snapshots: benchSnapshots,
  waiting: benchWaiting,
};

const [first, file] = process.argv.slice(2);
if (first === 'durability' && file !== undefined) {
  commitGroups(file);
} else {
  await run(process.argv.slice(2));
}

async function run(wanted: readonly string[]): Promise<void> {
  const unknown = wanted.filter((name) => !(name in BENCHES));
  if (unknown.length > 0) {
    console.error(`No benchmark is named ${unknown.join(', ')}: there are ${Object.keys(BENCHES).join(', ')}`);
    process.exitCode = 2;
    return;
  }
  for (const [name, bench] of Object.entries(BENCHES)) {
    if (wanted.length === 0 || wanted.includes(name)) await bench();
  }
}
