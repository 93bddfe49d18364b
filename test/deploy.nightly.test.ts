import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { command } from "../packages/cli-workflow/test/command.ts";
import { ServingProcess, stopServing } from "../packages/server/test/serving.ts";
import type { AuditRecord } from "../packages/server/src/guard/audit.ts";
import { until } from "../packages/workflow/test/fixtures/until.ts";
import { deployed, freePort, missingProxy, proxyNames, startProxy } from "./proxies.ts";

/* Runs the files of examples/deploy: the command of the unit, and the proxies in front of the server. */
setDefaultTimeout(180_000);
const folder = mkdtempSync(join(tmpdir(), "uw-deploy-"));
const stops: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const stop of stops) await stop();
  await stopServing();
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

const token = "operator-0123456789-abcdef";

function tokenFile(): string {
  const path = join(folder, "tokens");
  writeFileSync(path, `ops operate ${token}\nviewer read viewer-0123456789-abcdefgh\n`);
  chmodSync(path, 0o600);
  return path;
}

const verify = Bun.which("systemd-analyze");
const noVerify = verify ? "" : ": skipped, systemd-analyze is not installed";

test.skipIf(noVerify !== "")(`systemd accepts the unit${noVerify}`, () => {
  const path = join(folder, "uncaged-workflow.service");
  writeFileSync(
    path,
    deployed("uncaged-workflow.service", {
      "/usr/local/bin/uncaged-workflow": command,
      "User=uncaged": "User=root",
    }),
  );
  const { exitCode, stderr } = Bun.spawnSync([verify ?? "", "verify", path]);
  expect([exitCode, stderr.toString()]).toEqual([0, ""]);
});

test("the unit's command serves, reads its token file again, and finishes requests before it exits", async () => {
  const port = freePort();
  const tokens = tokenFile();
  const unit = deployed("uncaged-workflow.service", {
    "/usr/local/bin/uncaged-workflow": command,
    "127.0.0.1:9160": `127.0.0.1:${port}`,
    "/etc/uncaged/tokens": tokens,
  });
  const [, line = ""] = /^ExecStart=(.*)$/m.exec(unit) ?? [];
  const root = join(folder, "unit/root");
  mkdirSync(join(folder, "unit"), { mode: 0o700 });
  const child = Bun.spawn(line.split(" "), {
    cwd: folder,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: join(folder, "unit"),
      UNCAGED_WORKFLOW_STORAGE_ROOT: root,
    },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const url = `http://127.0.0.1:${port}`;
  const asked = (path: string, given = token) =>
    fetch(url + path, { headers: { Authorization: `Bearer ${given}` } }).then(
      ({ status }) => status,
      () => 0,
    );
  await until(async () => (await asked("/readyz")) === 200);
  expect([await asked("/api/server"), await asked("/api/server", "x")]).toEqual([200, 401]);
  const other = token.replace("operator", "rotated");
  writeFileSync(tokens, `ops operate ${other}\n`);
  child.kill("SIGHUP");
  await until(async () => (await asked("/api/server", other)) === 200);
  expect(await asked("/api/server")).toBe(401);
  child.kill("SIGTERM");
  expect(await child.exited).toBe(0);
  expect(await child.stdout.text()).toBe("https://flows.example.com/\n");
});

for (const name of proxyNames) {
  const missing = missingProxy(name);
  describe.skipIf(missing !== null)(
    `behind ${name}${missing ? `: skipped, ${missing}` : ""}`,
    () => {
      const port = freePort();
      const site = `https://localhost:${port}`;
      const tls = { rejectUnauthorized: false };
      const own = new ServingProcess();
      const ask = (path: string, init: RequestInit = {}) => {
        const headers = new Headers(init.headers);
        headers.set("Authorization", `Bearer ${token}`);
        return fetch(site + path, { ...init, headers, tls });
      };

      test("the console signs in with a secure cookie", async () => {
        own.flags.push("--public-url", site, "--token-file", tokenFile());
        await own.begin("asker");
        const at = { port, backend: own.port, folder: join(folder, name) };
        stops.push(await startProxy(name, at));
        expect(own.url).toBe(`${site}/`);
        const visit = await fetch(`${site}/?token=${token}`, { redirect: "manual", tls });
        const cookie = visit.headers.get("set-cookie") ?? "";
        expect([visit.status, visit.headers.get("location")]).toEqual([303, "/"]);
        expect(cookie).toContain("; Secure");
        const browser = { cookie: cookie.split(";")[0] ?? "", Accept: "text/html" };
        const page = await fetch(`${site}/threads`, { headers: browser, tls });
        expect(page.status).toBe(200);
        expect(page.headers.get("content-type")).toStartWith("text/html");
        const posted = (Origin: string) =>
          fetch(`${site}/api/pause`, { method: "POST", headers: { ...browser, Origin }, tls });
        expect((await posted(site)).status).toBe(200);
        expect((await posted(`http://localhost:${port}`)).status).toBe(403);
      });

      test("a stream arrives event by event, and ends after an answer", async () => {
        const id = await own.run("asker");
        const stream = await ask(`/api/threads/${id}/events`);
        let text = "";
        const done = (async () => {
          for await (const bytes of stream.body ?? []) text += new TextDecoder().decode(bytes);
        })();
        await until(() => text.includes('"status":"waiting"'));
        const answered = await ask(`/api/threads/${id}/input`, {
          method: "POST",
          body: JSON.stringify({ content: "yes" }),
          headers: { "Content-Type": "application/json" },
        });
        expect(answered.status).toBe(200);
        await done;
        expect(text).toContain("event: end");
        const { steps } = (await (await ask(`/api/threads/${id}`)).json()) as {
          steps: { role: string; meta: object }[];
        };
        expect(steps.find(({ role }) => role === "__input__")?.meta).toMatchObject({
          by: { kind: "api", name: "ops" },
        });
      });

      test("a large workflow is uploaded", async () => {
        const filler = `// ${"x".repeat(20 * 1024 * 1024)}\n`;
        const source = `export const descriptor = { description: "large", roles: {} };
export async function* run() { return { returnCode: 0, summary: "" }; }
`;
        const added = await ask("/api/workflows/large?file=large.esm.js", {
          method: "POST",
          body: source + filler,
          headers: { "Content-Type": "application/octet-stream" },
        });
        expect([added.status, added.ok ? "" : await added.text()]).toEqual([200, ""]);
      });

      test("the audit log has the client's address, and no log has the token", async () => {
        const forged = await ask("/api/pause", {
          method: "POST",
          headers: { "X-Forwarded-For": "6.6.6.6" },
        });
        expect(forged.status).toBe(200);
        const audit = readFileSync(join(own.path, "audit.jsonl"), "utf8");
        const last = JSON.parse(audit.trimEnd().split("\n").at(-1) ?? "") as AuditRecord;
        expect(last).toMatchObject({ who: "ops", what: "POST /api/pause" });
        expect(["127.0.0.1", "::1"]).toContain(last.from ?? "");
        const logs = [audit];
        if (name === "nginx") logs.push(readFileSync(join(folder, name, "access.log"), "utf8"));
        for (const log of logs) expect(log).not.toContain(token);
      });
    },
  );
}

/** Returns an engine that can build the image: it has the base image or can pull it. Null without such an engine. */
function engine(): string | null {
  return (
    ["docker", "podman"].find((name) => {
      const pull = [name, "pull", "--quiet", "docker.io/library/debian:12-slim"];
      return Bun.which(name) && Bun.spawnSync(pull, { timeout: 120_000 }).success;
    }) ?? null
  );
}

const builder = engine();
const noBuilder = builder ? "" : ": skipped, no engine can pull its base image";

test.skipIf(noBuilder !== "")(`the image is built${noBuilder}`, () => {
  const context = join(folder, "image");
  mkdirSync(context, { recursive: true });
  writeFileSync(join(context, "uncaged-workflow"), "#!/bin/sh\nexit 0\n", { mode: 0o755 });
  writeFileSync(join(context, "Dockerfile"), deployed("Dockerfile", {}));
  const built = Bun.spawnSync([builder ?? "", "build", context]);
  expect([built.exitCode, built.success ? "" : built.stderr.toString()]).toEqual([0, ""]);
});
