import { heldLock, type Lock } from './lock.js';
import type { Lines } from './lines.js';
import type { Dependency } from './outcomes.js';

/** A search that has come to so many owners ends without a finding. */
const MAX_OWNERS = 1000;

/** What stands in line where, and who holds what. */
export interface Situation {
  readonly lines: Lines;
  readonly now: number;
  /** @throws NotRead */
  readonly rowOf: (resource: string) => Lock | null;
}

/**
 * The circle that would close if this owner stood in line for these resources, beginning with it; null: none would. An owner
 * waits for whoever holds what it wants, and for those who are ahead of it in line.
 *
 * @throws NotRead
 */
export function findCircle(owner: string, resources: readonly string[], situation: Situation): readonly Dependency[] | null {
  const met = new Set<string>();
  const paths: (readonly Dependency[])[] = resources.map((resource) => [{ owner, resource }]);
  for (let path = paths.shift(); path !== undefined && met.size < MAX_OWNERS; path = paths.shift()) {
    const { owner: asking, resource } = path.at(-1) as Dependency;
    for (const other of ownersBefore(asking, resource, situation)) {
      if (other === owner && path.length > 1) return path;
      if (other === owner || met.has(other)) continue;
      met.add(other);
      for (const waiter of situation.lines.of(other)) {
        for (const wanted of waiter.resources) paths.push([...path, { owner: other, resource: wanted }]);
      }
    }
  }
  return null;
}

/** Who holds the resource, and who is ahead of the owner in its line. */
function ownersBefore(owner: string, resource: string, { lines, now, rowOf }: Situation): Set<string> {
  const holder = heldLock(rowOf(resource), now);
  const inLine = lines.all(resource).map((waiter) => waiter.owner);
  const place = inLine.indexOf(owner);
  const owners = new Set(place < 0 ? inLine : inLine.slice(0, place));
  if (holder !== null) owners.add(holder.owner);
  owners.delete(owner);
  return owners;
}
