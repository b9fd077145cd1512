export interface GraphQLAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly data: Record<string, any> | null | undefined;
  readonly errors: readonly GraphQLAnswerError[] | undefined;
}

export interface GraphQLAnswerError {
  readonly message: string;
  readonly path?: readonly (string | number)[];
  readonly extensions: Readonly<Record<string, unknown>>;
}

/** Sends an operation as a POST of JSON, on a connection of its own. */
export async function post(
  url: string,
  query: string,
  variables: object = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<GraphQLAnswer> {
  return postBody(url, JSON.stringify({ query, variables }), { 'content-type': 'application/json', ...headers });
}

/** Sends any body. */
export async function postBody(url: string, body: string, headers: Readonly<Record<string, string>>): Promise<GraphQLAnswer> {
  return readAnswer(await fetch(url, { method: 'POST', body, headers: { connection: 'close', ...headers } }));
}

/** What the response says, if it is an answer of GraphQL. */
export async function readAnswer(response: Response): Promise<GraphQLAnswer> {
  const { data, errors } = (await response.json()) as Pick<GraphQLAnswer, 'data' | 'errors'>;
  return { status: response.status, headers: response.headers, data, errors };
}

export const ACQUIRE = `mutation ($input: AcquireLockInput!) {
  acquireLock(input: $input) {
    __typename
    ... on LockAcquired { lock { resource owner fencingToken } }
    ... on Conflict { reason }
  }
}`;

/** Acquires a lock; the answer's union member. */
export async function acquireLock(url: string, resource: string, owner: string): Promise<Record<string, any>> {
  const { data, errors } = await post(url, ACQUIRE, { input: { resource, owner } });
  if (data == null) throw new Error(`acquireLock failed: ${JSON.stringify(errors)}`);
  return data['acquireLock'];
}
