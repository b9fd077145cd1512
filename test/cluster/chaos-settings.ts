/** What `npm run chaos` tells the test that it runs. */
export interface ChaosSettings {
  readonly seed: number;
  readonly seconds: number;
  readonly database: 'postgresql' | 'sqlite';
}

const VARIABLE = 'HOLDFAST_CHAOS';

export function toEnvironment(settings: ChaosSettings): Readonly<Record<string, string>> {
  return { [VARIABLE]: JSON.stringify(settings) };
}

/** null: the test runs by itself. */
export function readChaosSettings(environment: NodeJS.ProcessEnv): ChaosSettings | null {
  const text = environment[VARIABLE];
  return text === undefined ? null : (JSON.parse(text) as ChaosSettings);
}
