import { type AnyNode, type Identifier, parse } from "acorn";
import { childrenOf } from "./syntax.ts";

/**
 * What esbuild and Rolldown put in the place of `require` when they do not know the platform. Only
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
export function isRequireShim(node: AnyNode): boolean {
  if (node.type !== "CallExpression" || node.callee.type !== "ArrowFunctionExpression")
    return false;
  if (node.arguments[0]?.type !== "FunctionExpression") return false;
  wanted ??= shapeOf(shimIn(pattern));
  return shapeOf(node) === wanted;
}

/** The uses of `require` that belong to the shim itself. */
export function requiresInShim(shim: AnyNode): Identifier[] {
  if (shim.type === "Identifier") return shim.name === "require" ? [shim] : [];
  return shim.type === "ThrowStatement" ? [] : childrenOf(shim).flatMap(requiresInShim);
}

function shimIn(source: string): AnyNode {
  const statement = parse(source, { ecmaVersion: "latest" }).body[0];
  return statement?.type === "ExpressionStatement" ? statement.expression : (statement as AnyNode);
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
