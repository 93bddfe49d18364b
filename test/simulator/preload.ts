/*
 * Loads the modules that the product loads on first use. A schedule can't wait for the real disk, so this file uses
 * each module once before the first schedule, on a missing storage root.
 */
import { join } from "node:path";
import { openLocalHost } from "../../packages/workflow/src/local/host.ts";

const source = join(import.meta.dir, "../../packages/workflow/src");
const libraries = ["yaml", "ulid", "ajv", "ajv/dist/2019.js", "ajv/dist/2020.js"];
await Promise.all([
  import(join(source, "bundle/schema.ts")),
  import(join(source, "local/threads/thread-index.ts")),
  ...libraries.map((name) => import(Bun.resolveSync(name, source))),
]);

const host = openLocalHost({ path: join(import.meta.dir, "no-such-root/no-such-folder") });
const ref = { hash: "EYHPV6X8XHTCS", threadId: "01KQXKW1000000000000000000" };
const surroundings = { cwd: "/", env: {} };
const needs = (): Promise<unknown>[] => [
  host.threads(),
  host.live(),
  host.workflows(),
  host.read(ref),
  host.row(ref),
  host.attempts(ref),
  host.family(ref),
  host.observe(ref).next(),
  host.control(ref, { kind: "pause" }),
  host.remove(ref),
  host.fork(ref, surroundings),
  host.start({ workflow: "none", ...surroundings }),
  host.start({ workflow: "none", threadId: ref.threadId, ...surroundings }),
  host.rollback("none"),
  host.verify(),
  host.collect({ dryRun: true }),
  host.wake({ env: {} }),
  host.changes(AbortSignal.abort()).next(),
];
await Promise.allSettled(needs());
