import { type Fail, negative, operations } from "./operators.ts";
import type { Link, Tree } from "./parse.ts";
import { toBool } from "./value.ts";

/**
 * What a name stands for, undefined when it stands for nothing. Names come as they are written:
 * `$plan`, `_item`, `SYSVAR`, `goal`.
 */
export type Scope = (name: string) => unknown;

/** An expression that is ready to be evaluated. */
export type Evaluate = (scope: Scope) => unknown;

/** Makes a function of a tree. `failAt` gives what throws at an offset. */
export function compile(tree: Tree, failAt: (offset: number) => Fail): Evaluate {
  switch (tree.kind) {
    case "literal": {
      const { value } = tree;
      return () => value;
    }
    case "name": {
      const { name } = tree;
      return (scope) => scope(name);
    }
    case "sign": {
      const operand = compile(tree.operand, failAt);
      if (tree.sign === "!") return (scope) => !toBool(operand(scope));
      const fail = failAt(tree.offset);
      return (scope) => negative(operand(scope), fail);
    }
    case "path":
      return pathOf(
        compile(tree.base, failAt),
        tree.keys.map((key) => compile(key, failAt)),
      );
    case "chain":
      return chainOf(compile(tree.first, failAt), tree.rest, failAt);
  }
}

function pathOf(base: Evaluate, keys: Evaluate[]): Evaluate {
  return (scope) => {
    let value = base(scope);
    for (const key of keys) value = read(value, key(scope));
    return value;
  };
}

/** What stands under a key: an own property of an object, an array or a text; else undefined. */
export function read(value: unknown, key: unknown): unknown {
  if (typeof key !== "string" && typeof key !== "number") return undefined;
  if (typeof value === "string") {
    return key === "length" || Object.hasOwn(value as unknown as object, key)
      ? (value as unknown as Record<string, unknown>)[key]
      : undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  return Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
}

function chainOf(first: Evaluate, rest: Link[], failAt: (offset: number) => Fail): Evaluate {
  const operator = rest[0]?.operator;
  if (operator === "&&" || operator === "||") {
    return choice(operator === "||", [
      first,
      ...rest.map(({ operand }) => compile(operand, failAt)),
    ]);
  }
  const links = rest.map((link) => ({
    operation: operations[link.operator as keyof typeof operations],
    operand: compile(link.operand, failAt),
    fail: failAt(link.offset),
  }));
  return (scope) => {
    let value = first(scope);
    for (const { operation, operand, fail } of links)
      value = operation(value, operand(scope), fail);
    return value;
  };
}

/** The first operand whose truth is `wanted`, else the last one. */
function choice(wanted: boolean, operands: Evaluate[]): Evaluate {
  return (scope) => {
    let value: unknown;
    for (const operand of operands) {
      value = operand(scope);
      if (toBool(value) === wanted) return value;
    }
    return value;
  };
}
