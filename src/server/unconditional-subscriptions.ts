import {
  GraphQLError,
  Kind,
  OperationTypeNode,
  type ASTVisitor,
  type DirectiveNode,
  type SelectionSetNode,
  type ValidationContext,
} from 'graphql';

const CONDITIONS: ReadonlySet<string> = new Set(['skip', 'include']);

/**
 * The field that is subscribed to must not depend on a condition (GraphQL, September 2025, "Single Root Field"): where the condition left
 * none, there would be nothing to subscribe to, and graphql-js 16, which does not check it, fails with a TypeError.
 */
export function UnconditionalSubscriptionsRule(context: ValidationContext): ASTVisitor {
  return {
    OperationDefinition({ operation, selectionSet }) {
      if (operation !== OperationTypeNode.SUBSCRIPTION) return;
      const nodes = conditionsIn(selectionSet, context, new Set());
      if (nodes.length === 0) return;
      context.reportError(new GraphQLError('A subscription must not have @skip or @include at its top level', { nodes }));
    },
  };
}

/** @param entered the fragments that were looked into: they may contain each other, which another rule refuses. */
function conditionsIn({ selections }: SelectionSetNode, context: ValidationContext, entered: Set<string>): DirectiveNode[] {
  return selections.flatMap((selection) => {
    const own = (selection.directives ?? []).filter(({ name }) => CONDITIONS.has(name.value));
    if (selection.kind === Kind.FIELD) return own;
    if (selection.kind === Kind.INLINE_FRAGMENT) return [...own, ...conditionsIn(selection.selectionSet, context, entered)];
    const fragment = context.getFragment(selection.name.value);
    if (fragment == null || entered.has(selection.name.value)) return own;
    entered.add(selection.name.value);
    return [...own, ...conditionsIn(fragment.selectionSet, context, entered)];
  });
}
