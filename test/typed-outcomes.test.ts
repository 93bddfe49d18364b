import { expect, test } from "bun:test";
import { files, lineAt, type Node, readSource } from "./source.ts";

/*
 * Code must decide by typed fields, never by the words of a message, because a message may be reworded at any time.
 */

const sources = files("{apps,packages}/*/src/**/*.{ts,tsx}").filter(
  (path) => !/\.test\.tsx?$/.test(path),
);

/** Names of texts for people. */
const texts = /^(answer|content|error|hint|message|note|prompt|summary|warning)$/;
const searches = /^(endsWith|includes|indexOf|match|search|startsWith)$/;
const words = /[a-z]{3}/i;
const phrase = /^[A-Z]?[a-z]+ [a-z]+/;

/** Places that read the messages of other programs, a recorded text of an earlier version, or an option. */
const allowed: ReadonlySet<string> = new Set([
  // A line of a file format, and the name of a simulated fault.
  "packages/cli-workflow/src/attest/minisign.ts: untrusted comment:",
  "packages/workflow/src/chaos/drive.ts: chaos: ",
  // The driver's errors of lost connections have no code.
  "packages/workflow-postgres/src/database/database.ts: terminat|timeout|closed|ended|not queryable|ECONN",
  "packages/workflow-postgres/src/database/database.ts: Query read timeout",
  "apps/web/src/lib/json.ts: position (\\d+)",
  "apps/web/src/lib/json.ts: line (\\d+)",
  "packages/server/src/routes/upload.ts:  Could not resolve: ",
  "packages/workflow-agents/src/mcp/server.ts: session",
  "packages/workflow-agents/src/role/role.ts: fields",
  "packages/workflow-agents/src/worktree/repository.ts: dubious ownership",
  "packages/workflow-graph/src/state/review.ts: reject",
  "packages/workflow/src/bundle/build-child.ts: Macros are disabled",
  'packages/workflow/src/bundle/build-child.ts: ^Browser build cannot import Bun builtin: (".*?")',
  "packages/workflow/src/bundle/schema.ts: schema is invalid",
  "packages/workflow/src/document/yaml.ts: Maximum call stack",
  "packages/workflow/src/document/yaml.ts: Excessive alias count",
  "packages/workflow/src/registry/parse.ts: Maximum call stack",
  "packages/workflow/src/chaos/compare.ts: ^step \\d+ of the log is |^the fixture of \\S+ has no answer ",
  // These patterns read messages of this program, whose errors have no field for a step, a column or a command.
  "packages/cli-workflow/src/dev/handover.ts: ^step (\\d+) of the log",
  "packages/cli-workflow/src/eval/dataset.ts: ^line:1:(\\d+): (.*)$",
  "packages/cli-workflow/src/follow/follow.ts: uncaged-workflow (retry|fork) ",
]);

/** Returns the last name of an expression such as `run.error?`. */
function nameOf(node: Node): string {
  if (node.type === "ChainExpression") return nameOf(node.expression as Node);
  if (node.type === "MemberExpression") return nameOf(node.property as Node);
  return typeof node.name === "string" ? node.name : "";
}

const isTypeOf = ({ type, operator }: Node): boolean =>
  type === "UnaryExpression" && operator === "typeof";

const textIn = ({ value, regex }: Node): string | null =>
  typeof value === "string" ? value : ((regex as { pattern?: string })?.pattern ?? null);

/** Returns the text with which a node compares a message; null for another node. */
function comparedIn(node: Node): string | null {
  if (node.type === "BinaryExpression" && /^[!=]==?$/.test(node.operator as string)) {
    const [left, right] = [node.left as Node, node.right as Node];
    const text = textIn(right);
    return text !== null && texts.test(nameOf(left)) && words.test(text) && !isTypeOf(left)
      ? text
      : null;
  }
  if (node.type !== "CallExpression") return null;
  const callee = node.callee as Node;
  if (callee.type !== "MemberExpression") return null;
  const [first] = node.arguments as Node[];
  if (first === undefined) return null;
  const [object, method] = [callee.object as Node, nameOf(callee)];
  const isTest = method === "test" || method === "exec";
  const text = isTest ? textIn(object) : textIn(first);
  const subject = isTest ? nameOf(first) : nameOf(object);
  if (text === null || !(isTest || searches.test(method))) return null;
  const isProse = !isTest && phrase.test(text);
  return isProse || (texts.test(subject) && words.test(text)) ? text : null;
}

test("no code decides by the words of a message, except in the allowed places", () => {
  expect(sources.length).toBeGreaterThan(400);
  const found = sources.map(readSource).flatMap(({ path, text, nodes }) =>
    nodes.flatMap((node) => {
      const compared = comparedIn(node);
      const at = `${path}: ${compared}`;
      return compared === null || allowed.has(at)
        ? []
        : [`${at} (line ${lineAt(text, node.start)})`];
    }),
  );
  expect(found).toEqual([]);
});
