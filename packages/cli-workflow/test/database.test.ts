// @postgres: starts a server
import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { openPostgresHost } from "@uncaged/workflow-postgres";
import { missingPostgres } from "../../workflow-postgres/test/fixtures/server.ts";
import {
  emptySchema,
  execute,
  select,
  stopShared,
} from "../../workflow-postgres/test/fixtures/shared.ts";
import { removeFolders, Store } from "./program.ts";

const store = new Store();
const password = "not-in-any-output";

/** A workflow that yields whether the environment has the password, at the module level or in a step. */
const spies = `const isThere = () => JSON.stringify({ ...process.env }).includes("${password}");
const atStart = isThere();
export const descriptor = { description: "spies", roles: { spy: { description: "spies", schema: {} } } };
export async function* run() {
  for (let n = 0; n < 3; n += 1) yield { role: "spy", content: String(atStart || isThere()), meta: {} };
  return { returnCode: 0, summary: "done" };
}`;

/** Creates a database user with a password, and the rule that requires it. Returns the URL with this user. */
async function userWithPassword(url: string, role: string): Promise<string> {
  const [rules] = await select<{ path: string; text: string }>(
    url,
    "SELECT current_setting('hba_file') AS path, pg_read_file(current_setting('hba_file')) AS text",
  );
  const lines = (rules?.text ?? "").split("\n").filter((line) => /^[a-z]/.test(line));
  const all = [`host all ${role} 127.0.0.1/32 scram-sha-256`, ...lines].map(
    (line) => `('${line}')`,
  );
  await execute(
    url,
    `CREATE ROLE ${role} LOGIN PASSWORD '${password}';
     GRANT CREATE ON DATABASE postgres TO ${role};
     COPY (VALUES ${all.join(", ")}) TO '${rules?.path}';
     SELECT pg_reload_conf()`,
  );
  return url.replace("uncaged@", `${role}@`);
}

describe.skipIf(missingPostgres !== "")(`on a database with a password${missingPostgres}`, () => {
  afterAll(async () => {
    await stopShared();
    removeFolders();
  });

  test("threads never get the password from a worker, and no command shows the password", async () => {
    const { url: admin, drop } = await emptySchema();
    const role = `user_${process.pid}`;
    const url = await userWithPassword(admin, role);
    const given = url.replace(`${role}@`, `${role}:${password}@`);
    const env = {
      ...{ UNCAGED_WORKFLOW_HOST: url, PGPASSWORD: password },
      UNCAGED_WORKFLOW_STORAGE_ROOT: "",
    };
    const worker = store.start(["worker"], { env });
    const host = await openPostgresHost({ url: given });
    try {
      const file = join(store.folder, "spies.esm.js");
      writeFileSync(file, spies);
      expect((await store.run(["add", "spies", file, "--host", given])).code).toBe(0);
      const started = await Promise.all(
        Array.from({ length: 12 }, () =>
          host.start({ workflow: "spies", cwd: store.folder, env: {} }),
        ),
      );
      for (const ref of started) {
        await Array.fromAsync(host.observe(ref));
        const { status, steps } = await host.read(ref);
        expect([status, ...steps.map(({ content }) => content)]).toEqual([
          "completed",
          ...["false", "false", "false"],
        ]);
        const lines = await Array.fromAsync(host.log(ref));
        expect(lines.filter((line) => JSON.stringify(line).includes("worker_start"))).toHaveLength(
          1,
        );
      }
      const said = [];
      for (const [code, part, ...args] of [
        [0, "spies", "list"],
        [0, "1 kept", "gc"],
        [2, "does not work on a database", "doctor"],
        [2, "--no-register is not an option", "worker", "--no-register"],
        [0, "no thread of postgres://", "kill", "--all"],
        [0, "a database keeps no removed threads", "thread", "restore"],
        [
          4,
          "this host does not keep removed threads",
          "thread",
          "restore",
          "01M8JZ5HA4AAAAAAAAAAAAAAAA",
        ],
      ] as const) {
        const ended = await store.run([...args, "--host", given]);
        const text = `${ended.stdout}${ended.stderr}`;
        said.push(text);
        expect([ended.code, text.includes(part), text]).toEqual([code, true, text]);
      }
      const PGPASSFILE = join(store.folder, "passwords");
      writeFileSync(PGPASSFILE, `127.0.0.1:*:*:${role}:${password}\n`, { mode: 0o600 });
      const { code, stderr } = await store.run(["list", "--host", url], { env: { PGPASSFILE } });
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(said.join("")).not.toContain(password);
      expect(said.join("")).not.toMatch(/cluster|trash/);
    } finally {
      await host.close();
      worker.kill("SIGTERM");
      expect(await worker.exited).toBe(0);
      expect(await new Response(worker.stderr).text()).not.toContain(password);
      await drop();
      await execute(admin, `DROP OWNED BY ${role}; DROP ROLE ${role}`);
    }
  }, 120_000);
});
