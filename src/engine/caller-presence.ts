/** Whether somebody still waits for an answer. An AbortSignal is one; where there are very many, something smaller may be. */
export interface CallerPresence {
  /** Nobody does. */
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}
