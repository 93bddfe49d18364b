import { type AnyNode, getLineInfo, type Identifier, type Program, parse } from "acorn";
import { analyze, type Reference, type ScopeManager, type Variable } from "eslint-scope";

/** A place in a source text; both count from 1, columns in UTF-16 code units. */
export type Place = { line: number; column: number };

/** An ES module taken apart: its tree, who is whose parent, and what each name refers to. */
export type Syntax = {
  program: Program;
  nodes: AnyNode[];
  parent(node: AnyNode): AnyNode | undefined;
  /** Every use of a name that the module itself does not declare. */
  free: Identifier[];
  /** The variables that a declaration or an import specifier makes. */
  declared(node: AnyNode): Variable[];
  /** The variable that a name refers to; undefined when the module does not declare it. */
  variable(name: Identifier): Variable | undefined;
};

type Tree = Parameters<typeof analyze>[0];

/**
 * Parses an ES module of today's ECMAScript and finds its scopes.
 *
 * @throws SyntaxError with `pos` (an offset in the source) when it is none.
 */
export function parseModule(source: string): Syntax {
  const program = parse(source, {
    ecmaVersion: "latest",
    sourceType: "module",
    allowHashBang: true,
    ranges: true,
  });
  const parents = new Map<AnyNode, AnyNode>();
  const nodes = nodesOf(program, (child, parent) => parents.set(child, parent));
  const scopes = analyze(program as Tree, { ecmaVersion: 2026, sourceType: "module" });
  const references = referencesOf(scopes);
  return {
    program,
    nodes,
    parent: (node) => parents.get(node),
    free: (scopes.globalScope?.through ?? []).map(nameOf),
    declared: (node) => scopes.getDeclaredVariables(node as Parameters<typeof scopes.acquire>[0]),
    variable: (name) => references.get(name)?.resolved ?? undefined,
  };
}

/** The line and column of an offset. */
export function placeOf(source: string, offset: number): Place {
  const { line, column } = getLineInfo(source, offset);
  return { line, column: column + 1 };
}

/** The identifier that a reference was found at. */
export const nameOf = (reference: Reference) => reference.identifier as Identifier;

/** A node's children, in no order. */
export function childrenOf(node: AnyNode): AnyNode[] {
  const children: AnyNode[] = [];
  for (const value of Object.values(node) as unknown[]) {
    for (const item of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (isNode(item)) children.push(item);
    }
  }
  return children;
}

const isNode = (value: unknown): value is AnyNode =>
  typeof value === "object" && value !== null && "type" in value && "start" in value;

// A list and not a recursion: a minified file may be nested deeper than the stack.
function nodesOf(program: Program, onChild: (child: AnyNode, parent: AnyNode) => void): AnyNode[] {
  const nodes: AnyNode[] = [program];
  for (let at = 0; at < nodes.length; at++) {
    const node = nodes[at] as AnyNode;
    for (const child of childrenOf(node)) {
      onChild(child, node);
      nodes.push(child);
    }
  }
  return nodes;
}

function referencesOf(scopes: ScopeManager): Map<Identifier, Reference> {
  const found = new Map<Identifier, Reference>();
  for (const scope of scopes.scopes) {
    for (const reference of scope.references) found.set(nameOf(reference), reference);
  }
  return found;
}
