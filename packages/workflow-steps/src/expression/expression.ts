import { compile, type Evaluate, type Scope } from "./compile.ts";
import { ExpressionError, type ExpressionProblem } from "./error.ts";
import type { Fail } from "./operators.ts";
import { parse, type Tree } from "./parse.ts";
import { remembered } from "./remembered.ts";
import { SyntaxFault } from "./tokens.ts";

export type { Scope } from "./compile.ts";

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
    if (!(error instanceof SyntaxFault)) throw error;
  }
  return [...names];
}

/** What keeps a text from being an expression, with an offset into it; null when nothing does. */
export function problemIn(source: string): { message: string; offset: number } | null {
  try {
    parse(source);
    return null;
  } catch (error) {
    if (!(error instanceof SyntaxFault)) throw error;
    const { message, offset } = error.problem;
    return { message, offset };
  }
}

const compiled = remembered<Evaluate>((source) => {
  try {
    return compile(parse(source), (offset) => failing(source, offset));
  } catch (error) {
    if (!(error instanceof SyntaxFault)) throw error;
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

// A getter that throws, a text too long for memory: faults of the values, not of the expression.
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
