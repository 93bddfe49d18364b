import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import type { Failure, Server, StartedThread, Thread, ThreadRow } from "../src/entry/api-types.ts";
import { request, send } from "./raw.ts";
import { ServingProcess, stopServing } from "./serving.ts";
import { follow } from "./sse.ts";
import { until } from "../../workflow/test/fixtures/until.ts";

const begun = Date.now() - 1;
/** A server for the tests that do not change its state. */
let serving: ServingProcess;

beforeAll(async () => {
  serving = await ServingProcess.start("counter", "endless");
}, 180_000);
afterAll(stopServing, 180_000);

const addressOf = (of: ServingProcess) => join(of.path, "run/server.json");

test("the token is readable only by its owner, and survives a restart", async () => {
  const own = await ServingProcess.start();
  const { token, port } = own;
  expect(token).toMatch(/^[\w-]{43}$/);
  expect(statSync(addressOf(own)).mode & 0o777).toBe(0o600);
  expect(statSync(join(own.path, "run")).mode & 0o777).toBe(0o700);
  await own.stop("SIGKILL");
  await own.serve(port);
  expect(own.token).toBe(token);
  await own.stop();
  rmSync(addressOf(own));
  await own.serve(port);
  expect(own.token).not.toBe(token);
});

test("a port in use is reported in one line, without the token of the server that uses it", async () => {
  const own = serving.spawn("serve", "--port", String(serving.port));
  expect(await own.exited).toBe(1);
  const printed = await own.stderr.text();
  expect(printed).toMatch(/^error: port \d+ of 127\.0\.0\.1 is in use; hint: [^\n]+\n$/);
  expect(printed).toContain("this storage root is served there already");
  expect(printed).not.toContain(serving.token);

  const other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const foreign = serving.spawn("serve", "--port", String(other.port));
  expect(await foreign.exited).toBe(1);
  expect(await foreign.stderr.text()).not.toContain("token=");
  await other.stop(true);
  expect((await serving.fetch("/api/server")).status).toBe(200);
});

test.each([
  [["--port", "65536"], "--port can't be"],
  [["--listen", "192.0.2.1"], "can't listen on port 9160 of"],
  [["--listen", "127.0.0.1:65536"], "--listen can't be"],
  [["--listen", "[::1"], "--listen can't be"],
  [["--listen", ":9160"], "--listen can't be"],
  [["--listen", ""], "--listen can't be"],
  [["--listen", "http://127.0.0.1"], "--listen can't be"],
  [["--listen", "127.0.0.1:9160", "--port", "9161"], "--listen and --port both give a port"],
  [["--host", "0.0.0.0"], '--host names the store, so it can\'t be the address "0.0.0.0"'],
  [["--allow-origin", "localhost:5173"], "is not an origin"],
  [["--allow-host", "http://box"], "--allow-host can't be"],
  [["--public-url", "ftp://box"], "--public-url can't be"],
  [["--token-file", "none"], "none: can't be read: ENOENT"],
])("serve %j is refused in one line", async (args, message) => {
  const child = serving.spawn("serve", ...args);
  expect(await child.exited).toBe(2);
  const printed = await child.stderr.text();
  expect(printed).toMatch(/^error: [^\n]+\n$/);
  expect(printed).toContain(message);
  if (args[0] === "--host") expect(printed).toContain("--listen 0.0.0.0");
});

const hasIPv6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === "::1"),
);

test.each(["127.0.0.1:0", "localhost:0", ...(hasIPv6 ? ["[::1]:0"] : [])])(
  "the server listens on %s",
  async (address) => {
    const child = serving.spawn("serve", "--listen", address, "--json");
    const { value } = await child.stdout.getReader().read();
    const printed = JSON.parse(new TextDecoder().decode(value)) as Record<string, string>;
    const { port, token, host } = printed;
    expect(host).toBe(address.replace(/:0$/, "").replace(/[[\]]/g, ""));
    const response = await fetch(`http://${address.replace(/0$/, String(port))}/api/server`, {
      headers: { Authorization: `Bearer ${token}` },
    });
    expect(response.status).toBe(200);
    child.kill("SIGINT");
    expect(await child.exited).toBe(0);
  },
);

test("Ctrl-C ends the server at once, even with an open stream", async () => {
  const own = await ServingProcess.start("endless");
  const id = await own.run("endless");
  const following = follow(own, `/api/threads/${id}/events`);
  await follow(own, `/api/threads/${id}/events`, { enough: (sent) => sent.length > 3 });
  expect(await own.stop("SIGINT")).toBe(0);
  await following;
  await own.serve();
  await own.until(id, "running");
});

test("--open opens the console with a URL that is valid once and does not contain the token", async () => {
  const opened = join(serving.folder, "opened");
  for (const name of ["xdg-open", "open"]) {
    const script = `#!/bin/sh\nprintf %s "$1" > '${opened}.new' && mv '${opened}.new' '${opened}'\n`;
    chmodSync(serving.write(`bin/${name}`, script), 0o755);
  }
  const PATH = `${join(serving.folder, "bin")}:${serving.env.PATH}`;
  const child = serving.spawnIn({ PATH }, "serve", "--port", "0", "--open");
  const { value } = await child.stdout.getReader().read();
  const url = new TextDecoder().decode(value).trim();
  await until(() => existsSync(opened));
  const { origin, searchParams } = new URL(url);
  const entry = readFileSync(opened, "utf8");
  expect(entry).toStartWith(`${origin}/?code=`);
  expect(entry).not.toContain(searchParams.get("token") ?? "none");
  const visit = () => fetch(entry, { redirect: "manual" });
  const first = await visit();
  expect(first.status).toBe(303);
  expect(first.headers.get("location")).toBe("/");
  const cookie = first.headers.get("set-cookie")?.split(";")[0] ?? "";
  expect((await fetch(`${origin}/api/server`, { headers: { cookie } })).status).toBe(200);
  expect((await visit()).status).toBe(401);
  child.kill("SIGINT");
  expect(await child.exited).toBe(0);
});

test("an address reachable from other machines gets a warning, and only the machine's names are accepted", async () => {
  const child = serving.spawn("serve", "--listen", "0.0.0.0", "--port", "0");
  const { value } = await child.stdout.getReader().read();
  const url = new URL(new TextDecoder().decode(value).trim());
  const headers = { Authorization: `Bearer ${url.searchParams.get("token")}` };
  expect((await fetch(`${url.origin}/api/server`, { headers })).status).toBe(200);
  const evil = { ...headers, Host: `evil.example:${url.port}` };
  const answer = await send(Number(url.port), request("GET /api/server", evil));
  expect(answer.status).toBe(403);
  child.kill("SIGINT");
  expect(await child.exited).toBe(0);
  expect(await child.stderr.text()).toContain("other machines can reach this address");
});

test("the server listens only on loopback", async () => {
  const { stdout } = Bun.spawnSync(["cat", "/proc/net/tcp", "/proc/net/tcp6"]);
  const port = serving.port.toString(16).toUpperCase().padStart(4, "0");
  const listening = [...stdout.toString().matchAll(/^ *\d+: ([0-9A-F]+):([0-9A-F]{4}) \S+ 0A /gm)];
  const ours = listening.filter((match) => match[2] === port).map((match) => match[1]);
  expect(ours).toEqual(["0100007F"]);
});

test("in a project, the server serves the project's storage root, and reports the project's folder", async () => {
  const folder = serving.folder;
  serving.write("uncaged.json", "{}");
  const child = serving.spawnIn(
    { UNCAGED_WORKFLOW_STORAGE_ROOT: "" },
    "serve",
    "--port=0",
    "--json",
  );
  const { value } = await child.stdout.getReader().read();
  const { port, token } = JSON.parse(new TextDecoder().decode(value)) as ServingProcess;
  const headers = { Authorization: `Bearer ${token}` };
  const response = await fetch(`http://127.0.0.1:${port}/api/server`, { headers });
  expect(await response.json()).toMatchObject({ project: folder, root: join(folder, ".uncaged") });
  child.kill();
  await child.exited;
});

test("the server reports its version, its start time and its storage root", async () => {
  const server = await serving.ok<Server>("/api/server");
  expect(server).toMatchObject({
    name: "uncaged-workflow",
    version: expect.any(String),
    root: serving.path,
    project: null,
  });
  expect(server.startedAt).toBeGreaterThan(begun);
  expect(server.startedAt).toBeLessThanOrEqual(Date.now());
});

test("the root path has the console, or a page that says that the console is not built", async () => {
  const page = await serving.fetch("/");
  expect(page.headers.get("content-type")).toMatch(/^text\/html/);
  const isBuilt = existsSync(join(import.meta.dir, "../../../apps/web/dist/index.html"));
  expect(await page.text()).toContain(isBuilt ? "<script" : "The console is not built here");
});

test("a deleted storage root counts as empty, and can be restored", async () => {
  const own = await ServingProcess.start("counter", "endless");
  const id = await own.run("counter");
  await own.until(id, "completed");
  const aside = join(own.folder, "aside");
  renameSync(own.path, aside);
  expect(await own.ok<ThreadRow[]>("/api/threads")).toEqual([]);
  const { status, body } = await own.ask<Failure>(`/api/threads/${id}`);
  expect(`${status} ${body.error.code}`).toBe("404 THREAD_NOT_FOUND");
  expect((await own.ask("/api/threads", { workflow: "counter" })).status).toBe(404);
  expect(existsSync(own.path)).toBe(false);
  renameSync(aside, own.path);
  expect(await own.ok<ThreadRow[]>("/api/threads")).toHaveLength(1);
});

test("no page, list or error contains the token or the path of the storage root", async () => {
  const { token } = serving;
  const answers = await Promise.all(
    ["/", "/api/threads", "/api/openapi.json", "/api/x"].map(async (path) =>
      (await serving.fetch(path)).text(),
    ),
  );
  expect(answers.join()).not.toContain(token);
  expect(answers.join()).not.toContain(serving.folder);
  expect(readFileSync(addressOf(serving), "utf8")).toContain(token);
});

test("an interrupted thread is resumed only by a server with --resume", async () => {
  const own = await ServingProcess.start("endless", "asker");
  const id = await own.run("endless", { delayMs: 50 });
  await own.until(id, "running", 1);
  const { port } = own;
  await own.stop("SIGKILL");
  await own.killWorkers();
  await own.serve(port);
  // A server that resumes threads resumes them before it wakes this new sleeping thread.
  const wait = { sleep: true, expiresAt: Date.now() + 3_000 };
  const asleep = await own.run("asker", { wait });
  await until(async () => (await own.ok<Thread>(`/api/threads/${asleep}`)).stepCount > 0);
  await own.killWorkers();
  await own.until(asleep, "completed");
  const { status, stepCount } = await own.ok<Thread>(`/api/threads/${id}`);
  expect(status).toBe("interrupted");
  const waiting = await own.ok<{ resumed: { threadId: string }[] }>("/api/interrupted");
  expect(waiting.resumed.map(({ threadId }) => threadId)).toEqual([id]);
  await own.stop();
  own.flags.push("--resume");
  await own.serve(port);
  await own.until(id, "running", stepCount + 1);
}, 180_000);

test("threads that a server has confirmed survive a kill of the server", async () => {
  const own = await ServingProcess.start("counter");
  const ids = Array.from(
    { length: 20 },
    (_, n) => `01M8000000BBBBBBBBBBBBBB${String(n).padStart(2, "0")}`,
  );
  const start = (threadId: string) =>
    own.ask<StartedThread>("/api/threads", { workflow: "counter", threadId });
  let answered = 0;
  const enough = Promise.withResolvers<void>();
  const started = Promise.all(
    ids.map(async (threadId, n) => {
      // Some requests arrive after the server was killed.
      if (n >= 10) await enough.promise;
      const outcome = await start(threadId).catch(() => null);
      if ((answered += 1) === 5) enough.resolve();
      return outcome?.status === 201 ? threadId : null;
    }),
  );
  await enough.promise;
  const { port, token } = own;
  await own.stop("SIGKILL");
  const confirmed = (await started).filter((id) => id !== null);
  expect(confirmed.length).toBeGreaterThanOrEqual(5);
  await own.serve(port);
  expect(own.token).toBe(token);
  for (const id of confirmed) await own.ok<Thread>(`/api/threads/${id}`);
  for (const id of ids) expect((await start(id)).status).toBe(201);
  for (const id of ids) expect((await own.until(id, "completed")).stepCount).toBe(3);
}, 180_000);
