/**
 * Parts for front ends whose bundles interpret another document format, and call models, tools and commands as roles
 * do. Authors of roles do not need this module.
 *
 * @module
 */

// Runs
export { inOwnAttempt, publish } from "../run/run.ts";
export { type Paid, paid, type Spending } from "../role/spending.ts";

// Conversations
export {
  type Conversation,
  converse,
  type Conversed,
  type ModelCallbacks,
  type Toolbox,
} from "../llm/converse.ts";

// Answers
export { jsonIn } from "../extract/extract.ts";

// Tools
export { namedTools, ownToolName } from "../tools/named.ts";

// Processes
export { type ChildEnd, runChild } from "../child/child.ts";

// HTTP
export { fetchWithinOrigin, type HttpInit, RedirectError } from "../http/http.ts";

// Files
export { readConfined, writeConfined, type WriteOptions } from "../tools/file.ts";
export { type ConfinedPath, confinedPath } from "../tools/path.ts";
