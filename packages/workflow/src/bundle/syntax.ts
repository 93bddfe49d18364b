import { type Export, type Import, parse as lex } from "es-module-lexer";
import { type AnyNode, type Identifier, type Program, getLineInfo, parse } from "acorn";
import { type Reference, type Variable, analyze } from "eslint-scope";
import type { SourcePosition } from "./source-map.ts";

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
  const found = scopes.scopes.flatMap(({ references }) => references);
  const references = new Map(found.map((reference) => [nameOf(reference), reference]));
  return {
    program,
    nodes,
    parent: (node) => parents.get(node),
    free: (scopes.globalScope?.through ?? []).map(nameOf),
    declared: (node) => scopes.getDeclaredVariables(node as Parameters<typeof scopes.acquire>[0]),
    variable: (name) => references.get(name)?.resolved ?? undefined,
  };
}

const scanner = new Bun.Transpiler({ loader: "js" });

/**
 * The imports and exports of an ES module, as Bun's own parser finds them, in a twentieth of the time of
 * {@link parseModule}. An `import()` is among them only where its module is a literal and the code can be reached.
 *
 * @throws what Bun has to say of a module that it can't parse
 */
export const scanModule = (code: string): ReturnType<typeof scanner.scan> =>
  // It reads no `#!` line.
  scanner.scan(code.replace(/^#!.*/, ""));

export function positionOf(source: string, offset: number): SourcePosition {
  const { line, column } = getLineInfo(source, offset);
  return { line, column: column + 1 };
}

export const nameOf = (reference: Reference) => reference.identifier as Identifier;

/** A node's children, in no order. */
export function childrenOf(node: AnyNode): AnyNode[] {
  const children: AnyNode[] = [];
  // A bundle has a hundred thousand nodes.
  for (const value of Object.values(node) as unknown[]) {
    if (!Array.isArray(value)) {
      if (isNode(value)) children.push(value);
      continue;
    }
    for (const one of value as unknown[]) if (isNode(one)) children.push(one);
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

/** Modules that may be imported with and without the prefix `node:`. */
const named = `
  assert assert/strict async_hooks buffer child_process cluster console constants crypto dgram
  diagnostics_channel dns dns/promises domain events fs fs/promises http http2 https inspector
  inspector/promises module net os path path/posix path/win32 perf_hooks process punycode
  querystring readline readline/promises repl stream stream/consumers stream/promises stream/web
  string_decoder sys timers timers/promises tls trace_events tty url util util/types v8 vm wasi
  worker_threads zlib`;
/** Modules that Node has under the prefix `node:` only. */
const prefixed = "sea sqlite test test/reporters";

const words = (text: string) => text.trim().split(/\s+/);
const builtins: ReadonlySet<string> = new Set([
  ...words(named).flatMap((name) => [name, `node:${name}`]),
  ...words(prefixed).map((name) => `node:${name}`),
]);

/**
 * Whether a bundle may import this module: it is one of Node's own. The list is that of
 * https://nodejs.org/docs/latest-v22.x/api/modules.html#built-in-modules and not the runtime's, which
 * offers more (`bun:sqlite`, `ws`): a bundle must not be right on one machine and wrong on another.
 */
export const isBuiltin = (specifier: string): boolean => builtins.has(specifier);

/**
 * Returns the imports, each `import()` and the exports of a module without syntax errors, with their offsets.
 * An export whose name is in a pattern is missing: see {@link exportsOf}.
 */
export function lexModule(source: string): {
  imports: readonly Import[];
  exports: readonly Export[];
} {
  // The lexer knows neither a `#!` line nor Unicode's spaces and line ends. Each offset stays.
  const plain = source
    .replace(/^#!.*/, (line) => " ".repeat(line.length))
    .replace(/[\u1680\u2000-\u200a\u202f\u205f\u3000\ufeff]/g, " ");
  const [imports, exports] = parseLines(plain);
  return { imports, exports };
}

/** These two end a line, but not in a string, where the lexer takes a line's end for an error. */
const unicodeLineEnds = /[\u2028\u2029]/g;

function parseLines(source: string): ReturnType<typeof lex> {
  try {
    return lex(source.replace(unicodeLineEnds, "\n"));
  } catch (error) {
    if (!unicodeLineEnds.test(source)) throw error;
    return lex(source.replace(unicodeLineEnds, " "));
  }
}
