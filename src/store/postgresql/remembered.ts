/** What an instance remembers of one kind takes so much memory at the most. */
export const MAX_REMEMBERED_BYTES = 8 * 1024 * 1024;

/** All but the texts. */
const ROW_BYTES = 400;

interface Remembered {
  readonly owner: string;
  readonly metadata: string | null;
}

/** Of a row, besides the resource's name. */
export function rememberedBytes({ owner, metadata }: Remembered): number {
  return ROW_BYTES + owner.length + (metadata?.length ?? 0);
}
