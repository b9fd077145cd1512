import type { OperationRequest } from './operations.js';

type RequestParams = Omit<OperationRequest, 'caller'>;

const PARAMS = ['query', 'operationName', 'variables', 'extensions'] as const;

/** The parameters of a POST, or what is wrong with them. */
export function readBodyParams(body: Buffer): RequestParams | string {
  let params: unknown;
  try {
    params = JSON.parse(body.toString());
  } catch {
    return 'The body is not JSON';
  }
  if (Array.isArray(params)) return 'The body must be one operation: batches are not supported';
  return isObject(params) ? check(params) : 'The body must be a JSON object';
}

/** The parameters of a GET, or what is wrong with them. One that is empty counts as left out. */
export function readSearchParams(search: string): RequestParams | string {
  const given = new URLSearchParams(search);
  const params: Partial<Record<(typeof PARAMS)[number], unknown>> = {};
  for (const name of PARAMS) {
    const text = given.get(name) ?? '';
    if (text === '') continue;
    try {
      params[name] = name === 'variables' || name === 'extensions' ? JSON.parse(text) : text;
    } catch {
      return `${name} must be a JSON object`;
    }
  }
  return check(params);
}

function check({ query, operationName, variables, extensions }: Record<string, unknown>): RequestParams | string {
  if (typeof query !== 'string') return 'query must be a string: the text of the operation';
  if (operationName != null && typeof operationName !== 'string') return 'operationName must be a string';
  if (variables != null && !isObject(variables)) return 'variables must be an object';
  if (extensions != null && !isObject(extensions)) return 'extensions must be an object';
  return { query, operationName, variables };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
