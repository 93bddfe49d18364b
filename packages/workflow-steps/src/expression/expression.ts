import { ExpressionError, parse, type Scope } from "./parse.ts";
import { copyOf, mapped, toBool } from "./value.ts";

const parsed = remembered(parse, 1000);

/**
 * Evaluates an expression, given without its leading `=`. A missing name is undefined, and so is any key of null or
 * undefined. Throws only {@link ExpressionError}.
 */
export function evaluate(source: string, scope: Scope): unknown {
  const expression = parsed(source);
  try {
    return expression.evaluate(scope);
  } catch (error) {
    if (error instanceof ExpressionError) throw error;
    // The values cause this error, not the expression: for example a getter that throws, or a text that is too long for
    // memory.
    const hint = "use values that JSON can hold";
    const problem = "a value can't be read";
    throw new ExpressionError("EXPRESSION_FAILED", source, problem, 0, hint, error);
  }
}

/** Returns the names that an expression uses, each once. Returns an empty list for an invalid expression. */
export function namesIn(source: string): string[] {
  return problemIn(source) === null ? [...parsed(source).names] : [];
}

/** Returns the syntax error of an expression with its offset; null if it is valid. */
export function problemIn(source: string): { message: string; offset: number } | null {
  try {
    parsed(source);
    return null;
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    return { message: error.problem, offset: error.offset };
  }
}

/**
 * Evaluates the fields of a step: a text that begins with `=` is an expression, `==x` is the text `=x`, and other
 * values are literal. Throws an `ExpressionError`.
 */
export class ExpressionEvaluator {
  readonly #scope: Scope;

  /** `scope` is a function that returns a name's value, or a record of values. Only the record's own keys count. */
  constructor(scope: Scope | Record<string, unknown>) {
    this.#scope =
      typeof scope === "function"
        ? scope
        : (name) => (Object.hasOwn(scope, name) ? scope[name] : undefined);
  }

  evaluate(value: unknown): unknown {
    if (typeof value !== "string" || !value.startsWith("=")) return value;
    return value.startsWith("==") ? value.slice(1) : evaluate(value.slice(1), this.#scope);
  }

  /** Evaluates a field with all nested values. The result is a copy that shares nothing with the scope. */
  resolve(value: unknown): unknown {
    return mapped(value, (leaf) => (typeof leaf === "string" ? copyOf(this.evaluate(leaf)) : leaf));
  }

  /** Evaluates a condition. A text without a leading `=` is an expression too. */
  condition(value: unknown): boolean {
    if (typeof value !== "string" || value.startsWith("=")) return toBool(this.evaluate(value));
    return toBool(evaluate(value, this.#scope));
  }
}

/** Caches the last `limit` values of `make` by text. Does not cache errors. */
export function remembered<T>(make: (text: string) => T, limit: number): (text: string) => T {
  const kept = new Map<string, { value: T }>();
  return (text) => {
    const found = kept.get(text);
    if (found) return found.value;
    const value = make(text);
    const [oldest] = kept.keys();
    if (kept.size >= limit && oldest !== undefined) kept.delete(oldest);
    kept.set(text, { value });
    return value;
  };
}
