import { ExpressionError, parse, type Scope } from "./parse.ts";
import { copyOf, mapped, toBool } from "./value.ts";

const parsed = remembered(parse, 1000);

/**
 * The value of an expression, given without its leading `=`. A missing name, and a key of null or
 * undefined, is undefined. Throws an {@link ExpressionError} and nothing else.
 */
export function evaluate(source: string, scope: Scope): unknown {
  const expression = parsed(source);
  try {
    return expression.evaluate(scope);
  } catch (error) {
    if (error instanceof ExpressionError) throw error;
    // A getter that throws, a text too long for memory: of the values, not of the expression.
    const hint = "use values that JSON can hold";
    const problem = "a value can't be read";
    throw new ExpressionError("EXPRESSION_FAILED", source, problem, 0, hint, error);
  }
}

/** The names that an expression uses, each once. None of a text that is no expression. */
export function namesIn(source: string): string[] {
  return problemIn(source) === null ? [...parsed(source).names] : [];
}

/** What keeps a text from being an expression, with an offset into it; null when nothing does. */
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
 * Evaluates the fields of a step: a text that begins with `=` is an expression, `==x` is the text `=x`,
 * all else is itself. Throws an `ExpressionError`.
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

  evaluate(value: unknown): unknown {
    if (typeof value !== "string" || !value.startsWith("=")) return value;
    return value.startsWith("==") ? value.slice(1) : evaluate(value.slice(1), this.#scope);
  }

  /** The value of a field with all that it contains, as a copy that shares nothing with the scope. */
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
    const [oldest] = kept.keys();
    if (kept.size >= limit && oldest !== undefined) kept.delete(oldest);
    kept.set(text, { value });
    return value;
  };
}
