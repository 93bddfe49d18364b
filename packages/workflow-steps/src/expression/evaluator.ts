import { copyOf, mapped } from "./copy.ts";
import { evaluate, type Scope } from "./expression.ts";
import { toBool } from "./value.ts";

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
