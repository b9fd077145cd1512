/**
 * An instance that has given no sign of life for so long is taken for dead: whoever waits on it is passed over, and stands in line
 * again once it gives one.
 */
export const INSTANCE_LEASE_MS = 5_000;
