import {
  type AnyNode,
  type CallExpression,
  type ExpressionStatement,
  type Identifier,
  type ImportDeclaration,
  type MemberExpression,
  parse,
} from "acorn";
import type { Variable } from "eslint-scope";
import { type Syntax, childrenOf, isBuiltin, nameOf } from "./syntax.ts";

/** Reports a rule that a node breaks. */
export type Report = (node: AnyNode, message: string) => unknown;

/**
 * The rule `no-require`: a bundle requires nothing but Node's own modules.
 *
 * A bundler that met a CommonJS package emits a `require` of its own, made by `createRequire`, by
 * Bun's `import.meta.require` or by a shim. Its value is followed through variables; each use must be a call
 * that names a built-in literally. The name `require` alone may be a parameter or a local.
 */
export function checkRequire(syntax: Syntax, report: Report): void {
  const shims = syntax.nodes.filter(isRequireShim);
  const own = new Set(shims.flatMap(requiresInShim));
  const rule = new RequireRule(syntax, report, own);
  for (const shim of shims) rule.followValue(shim);
  for (const node of syntax.nodes) {
    if (node.type === "ImportDeclaration") rule.followImport(node);
    if (isMetaRequire(node)) rule.followValue(node);
  }
  for (const name of syntax.free) {
    if (name.name === "require" && !own.has(name)) rule.refuseFree(name);
  }
}

class RequireRule {
  private readonly followed = new Set<Variable>();

  constructor(
    private readonly syntax: Syntax,
    private readonly report: Report,
    private readonly ignored: ReadonlySet<Identifier>,
  ) {}

  /** What an import of `node:module` brings in may make a `require`. */
  followImport(node: ImportDeclaration): void {
    if (node.source.value !== "module" && node.source.value !== "node:module") return;
    for (const specifier of node.specifiers) {
      const named = specifier.type === "ImportSpecifier" ? keyOf(specifier.imported) : "default";
      for (const use of this.syntax.declared(specifier).flatMap(usesOf)) {
        const user = this.syntax.parent(use);
        if (named === "createRequire") this.followMaker(use);
        if (named !== "default" || user?.type !== "MemberExpression" || user.object !== use)
          continue;
        if (propertyOf(user) === "createRequire") this.followMaker(user);
      }
    }
  }

  /** An expression whose value is a `require`: judges what is done with it. */
  followValue(value: AnyNode): void {
    const node = this.outermost(value);
    const user = this.syntax.parent(node);
    if (user === undefined || isHarmless(user, node)) return;
    if (user.type === "CallExpression" && user.callee === node) return this.checkCall(user);
    if (user.type === "VariableDeclarator" && user.id.type === "Identifier") {
      return this.followVariable(this.syntax.declared(user)[0]);
    }
    if (user.type === "AssignmentExpression" && user.left.type === "Identifier") {
      this.followVariable(this.syntax.variable(user.left));
      return this.followValue(user);
    }
    if (user.type === "ArrowFunctionExpression") {
      const call = this.syntax.parent(user);
      if (call?.type === "CallExpression" && call.callee === user) return this.followValue(call);
    }
    this.report(node, "uses require as a value: only a call that names a Node built-in may stand");
  }

  /** A `require` that the module does not declare: only `typeof require` asks for nothing. */
  refuseFree(name: Identifier): void {
    const user = this.syntax.parent(name);
    if (user?.type === "UnaryExpression" && user.operator === "typeof") return;
    this.report(name, "uses require: a bundle is an ES module and imports what it needs");
  }

  private followMaker(maker: AnyNode): void {
    const node = this.outermost(maker);
    const user = this.syntax.parent(node);
    if (user?.type === "CallExpression" && user.callee === node) return this.followValue(user);
    if (user === undefined || isHarmless(user, node)) return;
    this.report(node, "uses createRequire as a value: only the call of it may stand");
  }

  private followVariable(variable: Variable | undefined): void {
    if (variable === undefined || this.followed.has(variable)) return;
    this.followed.add(variable);
    for (const use of usesOf(variable)) if (!this.ignored.has(use)) this.followValue(use);
  }

  private checkCall(call: CallExpression): void {
    const name = literalOf(call.arguments[0]);
    if (name === undefined) {
      this.report(call, "requires a module whose name is no literal");
    } else if (!isBuiltin(name)) {
      this.report(call, `requires ${JSON.stringify(name)}, which is no Node built-in`);
    }
  }

  // `(0, require)` has the value of its last part.
  private outermost(node: AnyNode): AnyNode {
    const user = this.syntax.parent(node);
    const isLast = user?.type === "SequenceExpression" && user.expressions.at(-1) === node;
    return isLast ? this.outermost(user) : node;
  }
}

const usesOf = (variable: Variable) =>
  variable.references.filter((reference) => reference.isRead()).map(nameOf);

// `require.main` and `require.module` are what bundlers make of `import.meta.main`.
function isHarmless(user: AnyNode, node: AnyNode): boolean {
  if (user.type === "MemberExpression" && user.object === node) {
    return ["main", "module"].includes(propertyOf(user) ?? "");
  }
  return (
    user.type === "ExpressionStatement" ||
    user.type === "SequenceExpression" ||
    (user.type === "UnaryExpression" && user.operator === "typeof")
  );
}

const isMetaRequire = (node: AnyNode) =>
  node.type === "MemberExpression" &&
  node.object.type === "MetaProperty" &&
  propertyOf(node) === "require";

function propertyOf({ property, computed }: MemberExpression): string | undefined {
  if (!computed) return property.type === "Identifier" ? property.name : undefined;
  return property.type === "PrivateIdentifier" ? undefined : literalOf(property);
}

/** The text of a string literal, also of a template without a hole. */
function literalOf(node: AnyNode | undefined): string | undefined {
  if (node?.type === "Literal" && typeof node.value === "string") return node.value;
  if (node?.type !== "TemplateLiteral" || node.expressions.length > 0) return undefined;
  return node.quasis[0]?.value.cooked ?? undefined;
}

/** The name that an identifier or a string literal is. */
export const keyOf = (node: AnyNode) => (node.type === "Identifier" ? node.name : literalOf(node));

/**
 * What esbuild and Rolldown emit for `require` when they do not know the platform. Only
 * its shape counts: minifiers rename its parameters, rewrite its tests and its message.
 */
const pattern = `((x) => typeof require !== "undefined" ? require : typeof Proxy !== "undefined"
  ? new Proxy(x, { get: (a, b) => (typeof require !== "undefined" ? require : a)[b] }) : x)(
  function (x) {
    if (typeof require !== "undefined") return require.apply(this, arguments);
    throw Error("");
  })`;
const keptNames = new Set(["require", "Proxy", "arguments", "apply", "get"]);
let wanted: string | undefined;

/** Whether a node is that shim: an expression whose value is a `require`. */
function isRequireShim(node: AnyNode): boolean {
  if (node.type !== "CallExpression" || node.callee.type !== "ArrowFunctionExpression")
    return false;
  if (node.arguments[0]?.type !== "FunctionExpression") return false;
  const [statement] = parse(pattern, { ecmaVersion: "latest" }).body;
  wanted ??= shapeOf((statement as ExpressionStatement).expression);
  return shapeOf(node) === wanted;
}

/** The uses of `require` that belong to the shim itself. */
function requiresInShim(shim: AnyNode): Identifier[] {
  if (shim.type === "Identifier") return shim.name === "require" ? [shim] : [];
  return shim.type === "ThrowStatement" ? [] : childrenOf(shim).flatMap(requiresInShim);
}

function shapeOf(node: AnyNode): string {
  if (node.type === "Identifier") return keptNames.has(node.name) ? node.name : "_";
  if (node.type === "ThrowStatement") return "throw";
  const tested = definedTest(node);
  if (tested) return `defined(${shapeOf(tested)})`;
  return `${node.type}(${childrenOf(node).map(shapeOf).join()})`;
}

/** `typeof x !== "undefined"`, or `typeof x < "u"` once it is minified: the `x`. */
function definedTest(node: AnyNode): AnyNode | undefined {
  if (node.type !== "BinaryExpression" || !["!==", "!=", "<"].includes(node.operator)) return;
  const { left } = node;
  return left.type === "UnaryExpression" && left.operator === "typeof" ? left.argument : undefined;
}
