/** GraphQL's Int ends here: what may be longer is cut off. */
export const MAX_INT = 2 ** 31 - 1;
