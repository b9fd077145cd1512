/**
 * Gives each item a partner of its own among its candidates, in such a way that as many items as possible have one: an item
 * may take the partner of another one that finds a new one (Kuhn's augmenting paths).
 *
 * @returns the pairs, and the first item that can't have any partner.
 */
export function matchAll<T, P>(
  items: readonly T[],
  candidatesOf: (item: T) => readonly P[],
): { readonly matches: ReadonlyMap<T, P>; readonly unmatched: T | null } {
  const itemOf = new Map<P, T>();
  let unmatched: T | null = null;

  const findPartner = (item: T, tried: Set<P>): boolean => {
    for (const partner of candidatesOf(item)) {
      if (tried.has(partner)) continue;
      tried.add(partner);
      const rival = itemOf.get(partner);
      if (rival === undefined || findPartner(rival, tried)) {
        itemOf.set(partner, item);
        return true;
      }
    }
    return false;
  };
  for (const item of items) if (!findPartner(item, new Set())) unmatched ??= item;
  return { matches: new Map([...itemOf].map(([partner, item]) => [item, partner])), unmatched };
}
