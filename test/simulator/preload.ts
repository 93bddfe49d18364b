/*
 * What the product loads when it first needs it: a schedule can't wait for the real disk, so that all of it is
 * loaded before the first.
 */
import { join } from "node:path";

const source = join(import.meta.dir, "../../packages/workflow/src");
const parts = [
  "control",
  "events",
  "list",
  "live",
  "start",
  "threads",
  "workflows",
  "family",
  "observe",
  "changes",
  "thread-index",
  "verify",
  "gc",
];
const others = ["yaml", "ulid", "ajv", "ajv/dist/2019.js", "ajv/dist/2020.js"];

await Promise.all([
  ...parts.map((name) => import(join(source, `local/${name}.ts`))),
  import(join(source, "bundle/schema.ts")),
  ...others.map((name) => import(Bun.resolveSync(name, source))),
]);
