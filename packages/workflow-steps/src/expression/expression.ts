import { type Link, parse, SyntaxViolation, type Tree } from "./parse.ts";
import {
  copyOf,
  ExpressionError,
  type ExpressionProblem,
  type Fail,
  mapped,
  negative,
  operations,
  toBool,
} from "./value.ts";

/**
 * The value of an expression, given without its leading `=`. A missing name, and a key of null or
 * undefined, is undefined.
 *
 * Throws an {@link ExpressionError} and nothing else: for a text that is no expression, and where an
 * operator has no value, such as a division by zero.
 *
 * @example evaluate("$note || 'none'", (name) => variables[name])
 */
export function evaluate(source: string, scope: Scope): unknown {
  const run = compiled(source);
  try {
    return run(scope);
  } catch (error) {
    if (error instanceof ExpressionError) throw error;
    throw unreadable(source, error);
  }
}

/** The names that an expression uses, each once. None of a text that is no expression. */
export function namesIn(source: string): string[] {
  const names = new Set<string>();
  try {
    collect(parse(source), names);
  } catch (error) {
    if (!(error instanceof SyntaxViolation)) throw error;
  }
  return [...names];
}

/** What keeps a text from being an expression, with an offset into it; null when nothing does. */
export function problemIn(source: string): { message: string; offset: number } | null {
  try {
    parse(source);
    return null;
  } catch (error) {
    if (!(error instanceof SyntaxViolation)) throw error;
    const { message, offset } = error.problem;
    return { message, offset };
  }
}

const compiled = remembered<Evaluate>((source) => {
  try {
    return compile(parse(source), (offset) => failing(source, offset));
  } catch (error) {
    if (!(error instanceof SyntaxViolation)) throw error;
    throw new ExpressionError("EXPRESSION_INVALID", source, error.problem);
  }
}, 1000);

const failing =
  (source: string, offset: number): Fail =>
  (message, hint, cause) => {
    throw failed(source, { message, offset, hint }, cause);
  };

const failed = (source: string, problem: ExpressionProblem, cause: unknown): ExpressionError =>
  new ExpressionError("EXPRESSION_FAILED", source, problem, cause);

// A getter that throws, a text too long for memory: violations of the values, not of the expression.
const unreadable = (source: string, cause: unknown): ExpressionError =>
  failed(
    source,
    { message: "a value can't be read", offset: 0, hint: "use values that JSON can hold" },
    cause,
  );

function collect(tree: Tree, names: Set<string>): void {
  switch (tree.kind) {
    case "literal":
      return;
    case "name":
      names.add(tree.name);
      return;
    case "sign":
      collect(tree.operand, names);
      return;
    case "path":
      for (const part of [tree.base, ...tree.keys]) collect(part, names);
      return;
    case "chain":
      for (const part of [tree.first, ...tree.rest.map(({ operand }) => operand)]) {
        collect(part, names);
      }
  }
}

/**
 * What a name stands for, undefined when it stands for nothing. Names come as they are written:
 * `$plan`, `_item`, `SYSVAR`, `goal`.
 */
export type Scope = (name: string) => unknown;

/** An expression that is ready to be evaluated. */
type Evaluate = (scope: Scope) => unknown;

/** Makes a function of a tree. `failAt` gives what throws at an offset. */
function compile(tree: Tree, failAt: (offset: number) => Fail): Evaluate {
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

/** The value of a key: an own property of an object, an array or a text; else undefined. */
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

/**
 * Evaluates the fields of a step: a text that begins with `=` is an expression, `==x` is the text `=x`,
 * all else is itself.
 *
 * @example new ExpressionEvaluator({ $n: 2 }).evaluate("=$n + 1") // 3
 */
export class ExpressionEvaluator {
  readonly #scope: Scope;

  /** `scope` gives the value of a name, or is a record of them; only its own keys count. */
  constructor(scope: Scope | Record<string, unknown>) {
    this.#scope =
      typeof scope === "function"
        ? scope
        : (name) => (Object.hasOwn(scope, name) ? scope[name] : undefined);
  }

  /** The value of a field. Throws an `ExpressionError`. */
  evaluate(value: unknown): unknown {
    if (typeof value !== "string" || !value.startsWith("=")) return value;
    return value.startsWith("==") ? value.slice(1) : evaluate(value.slice(1), this.#scope);
  }

  /**
   * The value of a field with all that it contains, as a copy that shares nothing with the scope.
   * Throws an `ExpressionError`, and `VALUE_TOO_DEEP` over 1,000 levels.
   */
  resolve(value: unknown): unknown {
    return mapped(value, (leaf) => (typeof leaf === "string" ? copyOf(this.evaluate(leaf)) : leaf));
  }

  /** Whether a condition holds. Here a text without `=` is an expression too. */
  condition(value: unknown): boolean {
    if (typeof value !== "string" || value.startsWith("=")) return toBool(this.evaluate(value));
    return toBool(evaluate(value, this.#scope));
  }
}

/** `make`, whose last `limit` values are kept by their text. What throws is not kept. */
export function remembered<T>(make: (text: string) => T, limit: number): (text: string) => T {
  const kept = new Map<string, { value: T }>();
  return (text) => {
    const found = kept.get(text);
    if (found) return found.value;
    const value = make(text);
    if (kept.size >= limit) {
      for (const [oldest] of kept) {
        kept.delete(oldest);
        break;
      }
    }
    kept.set(text, { value });
    return value;
  };
}
