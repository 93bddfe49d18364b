import { posix } from "node:path";
import type { AnyNode } from "acorn";
import type { Variable } from "eslint-scope";
import { childrenOf, parseModule, type Syntax } from "./syntax.ts";

/** The texts of the files that a version was built from, by their paths from the source's folder. */
export type Sources = ReadonlyMap<string, string>;

/**
 * Which of these roles do something else in another version, as far as the sources of the two show. What belongs to a
 * role is each call that has its name as an argument (`step("plan", …)`), each property of that name (`{ plan }`), each
 * object that has it as a value (`{ role: "plan", … }`, a step of a step workflow), and all that these refer to, from
 * module to module. A role that no source names has changed when any source has; so has every role, when a library has.
 */
export function changedRoles(before: Sources, after: Sources, roles: readonly string[]): string[] {
  const [one, other] = [new Program(before), new Program(after)];
  if (areSame(before, after)) return [];
  // Data is the author's, and belongs to what imports it.
  const isLibrary = (file: string) =>
    codeEnding.test(file) && !one.own.has(file) && !other.own.has(file);
  const shared = [...before].filter(([file]) => isLibrary(file) && after.has(file));
  if (shared.some(([file, text]) => after.get(file) !== text)) return [...roles];
  return roles.filter((role) => {
    const text = one.textOf(role);
    return text === null || text !== other.textOf(role);
  });
}

const areSame = (before: Sources, after: Sources): boolean =>
  before.size === after.size && [...before].every(([file, text]) => after.get(file) === text);

/** A module of the author's; `text` is that of its code, without types and comments. */
type Module = { file: string; text: string; syntax: Syntax };

const codeEnding = /\.[cm]?[jt]sx?$/;

/** The author's part of a version's sources: what its first module imports by a relative path, and so on. */
class Program {
  /** The author's files; those that are no code have no module. */
  readonly own = new Map<string, Module | null>();
  readonly #sources: Sources;

  constructor(sources: Sources) {
    this.#sources = sources;
    for (const file of sources.keys()) {
      if (!file.includes("/") && codeEnding.test(file)) this.#add(file);
    }
  }

  /** All of the sources that belongs to a role, as one text; null when none does. */
  textOf(role: string): string | null {
    const found = this.#textOf(role);
    const parts = role.split("/");
    if (found !== null || parts.length < 2) return found;
    const texts = parts.map((part) => this.#textOf(part));
    return texts.includes(null) ? null : texts.join("\n");
  }

  #textOf(role: string): string | null {
    const reach = new Reach(this);
    for (const module of this.own.values()) {
      if (!module) continue;
      for (const node of nodesNaming(role, module)) reach.node(node, module);
      for (const text of dataNaming(role, module)) reach.texts.add(text);
    }
    return reach.texts.size === 0 ? null : [...reach.texts].sort().join("\n");
  }

  /** The file that a module imports by a relative path; null for a library. */
  imported(specifier: unknown, from: Module): string | null {
    if (typeof specifier !== "string" || !/^\.\.?(\/|$)/.test(specifier)) return null;
    const path = posix.join(posix.dirname(from.file), specifier);
    const stem = path.replace(/\.[cm]?jsx?$/, "");
    const endings = ["", ".ts", ".tsx", ".mts", ".js", ".mjs"];
    const names = [
      path,
      ...[stem, `${path}/index`].flatMap((name) => endings.map((end) => name + end)),
    ];
    return names.find((name) => this.#sources.has(name)) ?? null;
  }

  #add(file: string): void {
    if (this.own.has(file)) return;
    const text = this.#sources.get(file) ?? "";
    const module = codeEnding.test(file) ? moduleOf(file, text) : null;
    this.own.set(file, module);
    for (const node of module?.syntax.program.body ?? []) {
      if (!module || !("source" in node) || !node.source) continue;
      const other = this.imported(node.source.value, module);
      if (other !== null) this.#add(other);
    }
  }

  /** The text of a file that is no code. */
  dataOf(file: string): string {
    return this.#sources.get(file) ?? "";
  }
}

function moduleOf(file: string, source: string): Module {
  const loader = file.endsWith("x") ? "tsx" : "ts";
  const text = new Bun.Transpiler({ loader }).transformSync(source);
  return { file, text, syntax: parseModule(text) };
}

/** Collects the texts that nodes refer to, from declaration to declaration. */
class Reach {
  readonly texts = new Set<string>();
  readonly #program: Program;
  readonly #seen = new Set<unknown>();

  constructor(program: Program) {
    this.#program = program;
  }

  node(node: AnyNode, module: Module): void {
    if (this.#seen.has(node)) return;
    this.#seen.add(node);
    this.texts.add(module.text.slice(node.start, node.end));
    for (const nodes = [node]; nodes.length > 0; ) {
      const next = nodes.pop() as AnyNode;
      if (next.type === "Identifier") this.#variable(module.syntax.variable(next), module);
      nodes.push(...childrenOf(next));
    }
  }

  #variable(variable: Variable | undefined, module: Module): void {
    if (!variable || this.#seen.has(variable)) return;
    this.#seen.add(variable);
    for (const { type, node, parent } of variable.defs) {
      if (type === "ImportBinding") this.#import(node as AnyNode, parent as AnyNode, module);
      else if (type !== "Parameter" && type !== "CatchClause") {
        this.node(node as AnyNode, module);
        const loop = parent && module.syntax.parent(parent as AnyNode);
        if (loop && "right" in loop) this.node(loop.right, module);
      }
    }
    for (const { identifier, init, isWrite } of variable.references.map(written)) {
      const change = isWrite && !init && module.syntax.parent(identifier);
      if (change) this.node(change, module);
    }
  }

  #import(specifier: AnyNode, declaration: AnyNode, module: Module): void {
    if (!("source" in declaration)) return;
    const source = declaration.source as { value?: unknown } | null;
    const file = this.#program.imported(source?.value, module);
    if (file === null) return;
    const name = specifier.type === "ImportSpecifier" ? nameIn(specifier.imported) : "default";
    this.#exported(specifier.type === "ImportNamespaceSpecifier" ? null : name, file);
  }

  /** What a file exports by a name; null for all of it. */
  #exported(name: string | null, file: string): void {
    const key = `${file} ${name ?? "*"}`;
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    const module = this.#program.own.get(file);
    if (!module) {
      this.texts.add(this.#program.dataOf(file));
      return;
    }
    const found = name === null ? null : exportOf(name, module);
    if (!found) this.node(module.syntax.program, module);
    else if ("from" in found) {
      const next = this.#program.imported(found.from, module);
      if (next !== null) this.#exported(found.name, next);
    } else this.node(found.node, module);
  }
}

const written = (reference: Variable["references"][number]) => ({
  identifier: reference.identifier as AnyNode,
  init: reference.init === true,
  isWrite: reference.isWrite(),
});

type Exported = { node: AnyNode } | { from: unknown; name: string };

/** What a module exports by a name; null where that is not plain. */
function exportOf(name: string, { syntax }: Module): Exported | null {
  for (const node of syntax.program.body) {
    if (node.type === "ExportDefaultDeclaration" && name === "default") {
      return { node: node.declaration as AnyNode };
    }
    if (node.type !== "ExportNamedDeclaration") continue;
    const { declaration, specifiers, source } = node;
    if (declaration) {
      const parts =
        declaration.type === "VariableDeclaration" ? declaration.declarations : [declaration];
      const part = parts.find((one) => syntax.declared(one).some((each) => each.name === name));
      if (part) return { node: part };
    }
    const specifier = specifiers.find(({ exported }) => nameIn(exported) === name);
    if (!specifier) continue;
    if (source) return { from: source.value, name: nameIn(specifier.local) };
    return { node: specifier.local as AnyNode };
  }
  return null;
}

const nameIn = (node: AnyNode): string =>
  node.type === "Identifier" ? node.name : String((node as { value?: unknown }).value);

/** The nodes of a module that belong to a role by its name. */
function nodesNaming(role: string, { syntax }: Module): AnyNode[] {
  return syntax.nodes.flatMap((node): AnyNode[] => {
    if (node.type === "Property") {
      const isKey = !node.computed && nameIn(node.key) === role;
      const isValue = isText(node.value, role);
      return [...(isKey ? [node.value] : []), ...(isValue ? [syntax.parent(node) ?? node] : [])];
    }
    if (node.type !== "CallExpression" && node.type !== "NewExpression") return [];
    return node.arguments.some((argument) => isText(argument, role)) ? [node] : [];
  });
}

/** The text that a node is; null for anything else. */
function textOf(node: AnyNode | undefined): string | null {
  if (node?.type === "Literal" && typeof node.value === "string") return node.value;
  const isPlain = node?.type === "TemplateLiteral" && node.expressions.length === 0;
  return isPlain ? (node.quasis[0]?.value.cooked ?? null) : null;
}

/** Whether a node is this text, or a template that may be. */
function isText(node: AnyNode, text: string): boolean {
  if (node.type !== "TemplateLiteral") return textOf(node) === text;
  const parts = node.quasis.map(({ value }) => RegExp.escape(value.cooked ?? ""));
  if (parts.every((part) => part === "")) return false;
  return new RegExp(`^${parts.join(".*")}$`, "s").test(text);
}

/** Of the JSON documents that a module holds as texts: the objects that name a role, each with what is above it. */
function dataNaming(role: string, { syntax }: Module): string[] {
  return syntax.nodes.flatMap((node) => {
    if (node.type !== "CallExpression" || node.arguments.length !== 1) return [];
    const json = textOf(node.arguments[0]);
    const { callee } = node;
    const isParse = callee.type === "MemberExpression" && nameIn(callee.property) === "parse";
    return isParse && json !== null ? textsNaming(role, json) : [];
  });
}

const naming: ReadonlySet<string> = new Set(["id", "name", "role"]);

function textsNaming(role: string, json: string): string[] {
  const texts: string[] = [];
  const look = (value: unknown, around: unknown[]): void => {
    if (typeof value !== "object" || value === null) return;
    const entries = Object.entries(value);
    if (entries.some(([key, each]) => each === role && naming.has(key))) {
      texts.push(JSON.stringify([...around, value]));
      return;
    }
    // A list is above what it holds; its other members are not.
    const rest = Array.isArray(value)
      ? []
      : [Object.fromEntries(entries.filter(([, each]) => !Array.isArray(each)))];
    for (const [, each] of entries) look(each, [...around, ...rest]);
  };
  try {
    look(JSON.parse(json), []);
  } catch {
    // It is another function's text.
  }
  return texts;
}
