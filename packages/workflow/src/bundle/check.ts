import type { AnyNode, Program } from "acorn";
import { messageOf } from "../contract/error.ts";
import { type Syntax, isBuiltin, parseModule, positionOf, scanModule } from "./syntax.ts";
import { checkRequire, keyOf, type Report } from "./require-rule.ts";

/** The rules that a bundle's source must keep. */
export type Rule =
  | "utf-8"
  | "syntax"
  | "no-dynamic-import"
  | "no-require"
  | "builtins-only"
  | "no-default-export"
  | "named-exports";

/** One breach of a rule: `line` and `column` count from 1, columns in UTF-16 code units. */
export type Finding = { rule: Rule; message: string; file: string; line: number; column: number };

/**
 * What in a bundle's bytes breaks the rules, in order of position; nothing when it is sound.
 *
 * It reads and never runs the bundle, and throws nothing, whatever the bytes are.
 */
export function checkBytes(bytes: Uint8Array, file: string): Finding[] {
  const source = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  const bad = firstDifference(bytes, new TextEncoder().encode(source));
  if (bad === -1) return checkSource(source, file);
  const before = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(0, bad));
  const message = `byte ${bad} is no UTF-8`;
  return [{ rule: "utf-8", message, file, ...positionOf(before, before.length) }];
}

/**
 * As {@link checkSource}, of what Bun's bundler has written, which is most often cleared in a twentieth of the time.
 */
export function checkBuilt(source: string, file: string): Finding[] {
  return isPlain(source) ? [] : checkSource(source, file);
}

/**
 * `import()` with any argument, and each name that `no-require` follows. A quote just before `import(` begins a text, and
 * a name that another word follows belongs to one, but for the words that are operators.
 */
const suspicious =
  /(?<!["'`])\bimport\s*[(/]|\b(?:createR|r)equire\b(?! (?!(?:in|instanceof|of|as|from)\b)[a-z])/;

/** The ASCII letters that a name or a text spells as escapes: `\x72equire`. */
const escaped = /\\(?:u00|u\{0*|x)([4-7][0-9a-f])\}?/gi;

const isSuspicious = (source: string): boolean =>
  suspicious.test(source) ||
  suspicious.test(
    source.replace(escaped, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
  );

/**
 * Whether a built module has nothing that a rule could be broken with: Bun's parser, which has read all of it as it
 * wrote it, finds built-ins and the two exports, and no text in it looks like an import or a require made at run time.
 */
function isPlain(source: string): boolean {
  if (isSuspicious(source)) return false;
  try {
    const { imports, exports } = scanModule(source);
    const names = new Set(exports);
    if (names.has("default") || !names.has("run") || !names.has("descriptor")) return false;
    return imports.every(({ kind, path }) => kind === "import-statement" && isBuiltin(path));
  } catch {
    return false;
  }
}

/** As {@link checkBytes}, of a source that is text already. */
export function checkSource(source: string, file: string): Finding[] {
  const found: { rule: Rule; message: string; offset: number }[] = [];
  try {
    const syntax = parseModule(source);
    const as =
      (rule: Rule): Report =>
      (node, message) =>
        found.push({ rule, message, offset: node.start });
    checkImports(syntax, as("no-dynamic-import"), as("builtins-only"));
    checkRequire(syntax, as("no-require"));
    checkExports(syntax.program, as("no-default-export"), (name) =>
      found.push({ rule: "named-exports", message: `exports no ${name}`, offset: source.length }),
    );
  } catch (error) {
    found.push({ rule: "syntax", ...syntaxProblem(error) });
  }
  found.sort((a, b) => a.offset - b.offset);
  return found.map(({ rule, message, offset }) => {
    return { rule, message, file, ...positionOf(source, offset) };
  });
}

function checkImports({ nodes, program }: Syntax, dynamic: Report, foreign: Report): void {
  for (const node of nodes) {
    if (node.type !== "ImportExpression") continue;
    dynamic(node, "import() is not allowed: import at the top, and bundle what you import");
  }
  for (const node of program.body) {
    if (!("source" in node) || !node.source) continue;
    const name = String(node.source.value);
    const what = /^bun(:|$)/.test(name) ? "is Bun's own" : "is no Node built-in";
    if (!isBuiltin(name)) foreign(node.source, `imports ${JSON.stringify(name)}, which ${what}`);
  }
}

function checkExports(program: Program, byDefault: Report, missing: (name: string) => void): void {
  const exported = exportsOf(program);
  for (const { name, node } of exported) {
    if (name !== "default") continue;
    byDefault(node, "there must be no default export: export run and descriptor by name");
  }
  // `export * from` a built-in may bring in any name: the loaded module shows.
  if (program.body.some((node) => node.type === "ExportAllDeclaration" && !node.exported)) return;
  for (const wanted of ["run", "descriptor"]) {
    if (!exported.some(({ name }) => name === wanted)) missing(wanted);
  }
}

function exportsOf(program: Program): { name: string; node: AnyNode }[] {
  return program.body.flatMap((node) => {
    if (node.type === "ExportDefaultDeclaration") return [{ name: "default", node }];
    if (node.type === "ExportAllDeclaration") {
      return node.exported ? [named(node.exported)] : [];
    }
    if (node.type !== "ExportNamedDeclaration") return [];
    const listed = node.specifiers.map(({ exported }) => named(exported));
    return [...listed, ...(node.declaration ? namesBoundBy(node.declaration) : [])];
  });
}

/** The names that a declaration or a pattern binds. */
function namesBoundBy(node: AnyNode): { name: string; node: AnyNode }[] {
  switch (node.type) {
    case "Identifier":
      return [{ name: node.name, node }];
    case "FunctionDeclaration":
    case "ClassDeclaration":
      return node.id ? namesBoundBy(node.id) : [];
    case "VariableDeclaration":
      return node.declarations.flatMap(({ id }) => namesBoundBy(id));
    case "ObjectPattern":
      return node.properties.flatMap((property) =>
        namesBoundBy(property.type === "Property" ? property.value : property),
      );
    case "ArrayPattern":
      return node.elements.flatMap((element) => (element ? namesBoundBy(element) : []));
    case "AssignmentPattern":
      return namesBoundBy(node.left);
    case "RestElement":
      return namesBoundBy(node.argument);
    default:
      return [];
  }
}

const named = (node: AnyNode) => ({ name: keyOf(node) ?? "", node });

function syntaxProblem(error: unknown): { message: string; offset: number } {
  if (error instanceof RangeError) return { message: "is nested too deeply to be read", offset: 0 };
  const offset = error instanceof SyntaxError && "pos" in error ? Number(error.pos) : 0;
  return { message: messageOf(error).replace(/ \(\d+:\d+\)$/, ""), offset };
}

function firstDifference(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) if (a[at] !== b[at]) return at;
  return a.length === b.length ? -1 : length;
}
