/** By the code of Node, or of OpenSSL. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'no such host is known',
  EAI_AGAIN: 'the name of the host can not be looked up now',
  ETIMEDOUT: 'nothing answers there',
  EHOSTUNREACH: 'there is no way to the host',
  ENETUNREACH: 'there is no way to the host',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
};

const UNTRUSTED = /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|CERT_|ERR_TLS_CERT_)/;

/** By what the driver says, whose errors have no code. */
const MESSAGES: readonly (readonly [RegExp, string])[] = [
  [/does not support SSL/, 'it takes no encrypted connections, which sslmode asks for'],
  [/timeout/i, 'nothing answers there in time'],
  [/^Connection terminated/, 'the connection was cut'],
];

/** Why a database can't be reached, or failed, in words for whoever runs the service. */
export function reasonFor(error: unknown): string {
  const { code = '', message } = error as { readonly code?: unknown; readonly message?: unknown };
  const text = typeof message === 'string' ? message : String(error);
  if (typeof code === 'string' && UNTRUSTED.test(code)) {
    return `its certificate is not trusted (${text}): sslrootcert names the file of the authority, sslmode=no-verify does without`;
  }
  const known = REASONS[String(code)] ?? MESSAGES.find(([pattern]) => pattern.test(text))?.[1];
  if (known === undefined) return text;
  return `${known} (${text === '' ? String(code) : text})`;
}
