import type { ChaosResult } from './chaos.js';
import { certainlyInLine } from './checker/overtaking.js';

/** What a run was made of, as text. */
export function figuresOf({ history, log, turns, watchers, faults }: ChaosResult): string {
  const { holds } = history;
  const calls = [...history.calls, ...history.groups];
  const asked = tally(
    calls.map(({ question }) => `${'wait' in question && question.wait !== null ? 'waiting ' : ''}${question.kind}`),
  );
  const told = tally(calls.map(({ told }) => ('reason' in told ? told.reason : told.kind)));
  const heard = tally(
    holds.flatMap(({ updates }) => updates.map(({ told }) => ('cause' in told ? `lost (${told.cause})` : told.kind))),
  );
  const places = certainlyInLine(history).filter(({ from, to }) => to > from).length;
  const changes = tally(log.map(({ type }) => type));
  const latencies = calls
    .flatMap(({ span }) => (span.to === Infinity ? [] : [span.to - span.from]))
    .sort((one, other) => one - other);
  const quantile = (share: number) => Math.round(latencies[Math.floor(latencies.length * share)] ?? NaN);
  const lines = [
    `${calls.length} calls: ${show(asked)}`,
    `told: ${show(told)}`,
    `answered within ${quantile(0.5)} ms (half), ${quantile(0.99)} ms (99 of 100), ${quantile(1 - 1 / latencies.length)} ms (all)`,
    `${holds.length} holds: ${show(tally(holds.map(({ end }) => end)))}; told: ${show(heard)}`,
    `${places} places in line that certainly counted, ${turns.length} turns of whose ticket was seen`,
    `${log.length} changes: ${show(changes)}`,
    `watches resumed: ${watchers.map(({ subscriptions }) => subscriptions - 1).join(', ')} times`,
    `faults: ${show(faults)}`,
  ];
  return lines.join('\n');
}

function tally(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

function show(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}
