// @cluster: starts a server and workers.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { connect, type IncomingHttpHeaders } from "node:http2";
import { join } from "node:path";
import { until } from "../../workflow/test/fixtures/until.ts";
import { missingServer } from "../../workflow-restate/test/fixtures/server.ts";
import { newFolder, removeFolders, Store } from "./program.ts";

type Up = { host: string; uri: string; pids: { servers: number[]; workers: number[] } };
type Fronts = { workers: { port: number; backends: { port: number; health: number }[] } };

/** A workflow that yields its environment, and ends when the file that its prompt names exists. */
const telling = `
import { existsSync } from "node:fs";
export const descriptor = { description: "tells its environment", roles: {} };
export async function* run(input, options) {
  const own = JSON.stringify([options.env, process.env]);
  yield { role: "tell", content: own, meta: {} };
  while (!existsSync(input.prompt)) await new Promise((resolve) => setTimeout(resolve, 10));
  return { returnCode: 0, summary: "told" };
}`;

const store = new Store();
const folder = join(store.root, "cluster");
const tokenVariable = "UNCAGED_WORKFLOW_HOST_TOKEN";
let up: Up;
let token: string;
let env: Record<string, string>;

const read = (name: string): string => readFileSync(join(folder, name), "utf8");
// The caller's environment has the token of another cluster.
const start = () =>
  store.json<Up>(["cluster", "up", "--workers", "1"], { env: { [tokenVariable]: "of-another" } });

const onCluster = describe.skipIf(missingServer !== "");

beforeAll(async () => {
  if (missingServer !== "") return;
  up = await start();
  token = read("token").trim();
  env = { UNCAGED_WORKFLOW_HOST: up.host };
  const file = join(newFolder(), "tell.esm.js");
  writeFileSync(file, telling);
  await store.ok(["add", "tell", file], { env });
});
afterAll(async () => {
  if (missingServer === "") await store.ok(["cluster", "down", "--data"]);
  removeFolders();
});

/** Sends a request to an HTTP/2 endpoint and returns its answer. */
function ask2(origin: string, headers: Record<string, string>): Promise<[number, string]> {
  const { promise, resolve, reject } = Promise.withResolvers<[number, string]>();
  const session = connect(origin);
  session.on("error", reject);
  const stream = session.request(headers);
  let status = 0;
  let text = "";
  stream.on("response", (got: IncomingHttpHeaders & { ":status"?: number }) => {
    status = got[":status"] ?? 0;
  });
  stream.on("data", (bytes: Buffer) => void (text += bytes.toString()));
  stream.on("error", reject);
  stream.on("end", () => {
    session.close();
    resolve([status, text]);
  });
  stream.end();
  return promise;
}

const admin = (): string => `http://127.0.0.1:${new URL(up.host).searchParams.get("admin")}`;
const ingress = (): string => `http://127.0.0.1:${new URL(up.host).port}`;
const without: Record<string, string>[] = [
  {},
  { authorization: "Bearer wrong" },
  { authorization: "Bearer " },
];

onCluster(`without the token of a cluster${missingServer}`, () => {
  const paths: [string, () => string, string, string][] = [
    ["the ingress", ingress, "GET", "/restate/health"],
    ["the ingress", ingress, "POST", "/thread/x/start"],
    ["the admin interface", admin, "GET", "/deployments"],
    ["the admin interface", admin, "POST", "/query"],
    ["the admin interface", admin, "POST", "/deployments"],
  ];
  test.each(paths)("%s is refused: %p %s %s", async (_name, origin, method, path) => {
    for (const headers of without) {
      const response = await fetch(origin() + path, { method, headers });
      const text = await response.text();
      expect([response.status, text]).toEqual([
        401,
        expect.stringMatching(/^\{"message":"(missing|invalid) token"\}$/),
      ]);
    }
  });

  test("the right token gets an answer", async () => {
    const headers = { authorization: `Bearer ${token}` };
    for (const url of [`${ingress()}/restate/health`, `${admin()}/deployments`]) {
      expect((await fetch(url, { headers })).status).toBe(200);
    }
  });

  test("a worker refuses requests on its own port and on the shared port", async () => {
    const { workers } = JSON.parse(read("balancer.json")) as Fronts;
    for (const port of [workers.port, ...workers.backends.map((one) => one.port)]) {
      // Workers accept only signed requests. The cluster token does not replace the signature.
      for (const headers of [...without, { authorization: `Bearer ${token}` }]) {
        for (const path of ["/discover", "/invoke/thread/drive"]) {
          const method = path === "/discover" ? "GET" : "POST";
          const asked = { ":method": method, ":path": path, ...headers };
          const [status, text] = await ask2(`http://127.0.0.1:${port}`, asked);
          expect([status, text]).toEqual([401, "missing or invalid signature of a server\n"]);
        }
      }
    }
  });

  test("live events and the number of threads are refused", async () => {
    const { workers } = JSON.parse(read("balancer.json")) as Fronts;
    const health = `http://127.0.0.1:${workers.backends[0]?.health}`;
    for (const headers of [...without, { authorization: `Bearer ${token}` }]) {
      const response = await fetch(`${health}/live?from=0`, { headers });
      expect([response.status, await response.text()]).toEqual([401, "missing or invalid key\n"]);
    }
    for (const headers of without) {
      expect(await (await fetch(`${health}/health`, { headers })).json()).toEqual({
        draining: false,
      });
    }
  });

  test.if(Bun.which("ss") !== null)("the servers have no port", () => {
    const { stdout } = Bun.spawnSync(["ss", "-ltnpH"]);
    for (const pid of up.pids.servers) expect(stdout.toString()).not.toContain(`pid=${pid},`);
  });

  test("a command that can't read the token fails in one line, and succeeds with the token in its environment", async () => {
    const stranger = { ...env, HOME: newFolder(), UNCAGED_WORKFLOW_STORAGE_ROOT: newFolder() };
    const list = (given: Record<string, string>) => store.run(["list"], { env: given });
    const refused = (what: string) => ({
      ...{ code: 1, stdout: "" },
      stderr: expect.stringMatching(
        new RegExp(`^error: the ingress \\S+ ${what}; hint: set ${tokenVariable} [^\\n]*\\n$`),
      ),
    });
    expect(await list(stranger)).toEqual(refused("requires a token"));
    expect(await list({ ...stranger, [tokenVariable]: token })).toMatchObject({ code: 0 });
    expect(await list({ ...env, [tokenVariable]: "wrong" })).toEqual(refused("rejects this token"));
  });
});

onCluster(`the token of a cluster${missingServer}`, () => {
  test("is readable only by its owner", () => {
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    for (const name of ["token", "signing-key.pem"]) {
      expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    }
    expect(token).toMatch(/^[\w-]{43}$/);
  });

  test("is found by the user's commands on another storage root, and by commands with another home on this root", async () => {
    const otherRoot = { ...env, UNCAGED_WORKFLOW_STORAGE_ROOT: newFolder() };
    const otherHome = { ...env, HOME: newFolder() };
    for (const given of [otherRoot, otherHome]) {
      expect(await store.json<{ name: string }[]>(["list"], { env: given })).toHaveLength(1);
    }
  });

  test("is not sent to another address", async () => {
    const seen: (string | null)[] = [];
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch({ headers }) {
        seen.push(headers.get("authorization"));
        return new Response("");
      },
    });
    // Add a file that maps another port to this cluster.
    const notes = join(store.folder, "home/.local/state/uncaged-workflow/clusters");
    symlinkSync(folder, join(notes, `${server.port}`));
    const host = `restate://127.0.0.1:${server.port}?admin=${server.port}`;
    expect((await store.run(["list", "--host", host])).code).toBe(1);
    await server.stop(true);
    expect(seen.length).toBeGreaterThan(0);
    expect(seen.filter((each) => each !== null)).toEqual([]);
  });

  test("is in no output, command line, log or environment of a thread", async () => {
    const gate = join(newFolder(), "gate");
    const words = ["run", "tell", "--prompt", gate];
    const id = await store.ok(words, { env });
    const steps = async () =>
      (await store.json<{ steps: { content: string }[] }>(["thread", id], { env })).steps;
    await until(async () => (await steps()).length === 1);
    const key = read("signing-key.pem").split("\n")[1] ?? "";
    const shows = (text: string): boolean => text.includes(token) || text.includes(key);
    const [{ content } = { content: "" }] = await steps();
    expect(content).toContain('"PATH"');
    expect([shows(content), content.includes("HOST_TOKEN")]).toEqual([false, false]);
    const { stdout: commands } = Bun.spawnSync(["ps", "-eww", "-o", "command="]);
    expect(shows(commands.toString())).toBe(false);
    const outputs = [
      await store.run(["cluster", "status", "--json"]),
      await store.run(["cluster", "status"]),
      await store.run(["cluster", "up"]),
      await store.run(["thread", "none"], { env }),
    ];
    expect(outputs.filter((output) => shows(JSON.stringify(output)))).toEqual([]);
    const files = readdirSync(folder).filter((name) => /\.(log|json|toml)$/.test(name));
    expect(files.filter((name) => name.endsWith(".log")).length).toBeGreaterThan(2);
    expect(files.filter((name) => shows(read(name)))).toEqual([]);
    writeFileSync(gate, "");
    await until(async () => {
      const { status } = await store.json<{ status: string }>(["thread", id], { env });
      return status === "completed";
    });
  });

  test("is not passed to the threads of a worker that has it in its environment", async () => {
    const home = { HOME: newFolder(), UNCAGED_WORKFLOW_STORAGE_ROOT: newFolder() };
    const given = { ...env, ...home, [tokenVariable]: token };
    const { pids } = up;
    for (const pid of pids.workers) process.kill(pid, "SIGTERM");
    const log = read("node-1.log");
    const [identityKey = ""] = /publickeyv1_\w+/.exec(log) ?? [];
    const worker = store.start(
      ["worker", "--port", "0", "--identity-key", identityKey, "--json", "--no-register"],
      { env: given },
    );
    const { value } = await worker.stdout.getReader().read();
    const { port, healthPort: health } = JSON.parse(new TextDecoder().decode(value)) as {
      port: number;
      healthPort: number;
    };
    const fronts = JSON.parse(read("balancer.json")) as Fronts;
    const backends = [{ port, health }];
    writeFileSync(
      join(folder, "balancer.json"),
      JSON.stringify({ ...fronts, workers: { ...fronts.workers, backends } }),
    );
    const gate = join(folder, "token");
    const done = await store.json<{ threadId: string; status: string }>(
      ["run", "tell", "--prompt", gate, "--wait"],
      { env },
    );
    expect(done.status).toBe("completed");
    const thread = await store.json<{ steps: { content: string }[] }>(["thread", done.threadId], {
      env,
    });
    const [own] = JSON.parse(thread.steps[0]?.content ?? "") as [Record<string, string>];
    expect(own.PATH).toBeDefined();
    expect(own[tokenVariable]).toBeUndefined();
    worker.kill("SIGTERM");
    await worker.exited;
  });

  test("stays the same when the cluster restarts, and is created if missing", async () => {
    await store.ok(["cluster", "down"]);
    up = await start();
    expect(read("token").trim()).toBe(token);
    await store.ok(["cluster", "down"]);
    // Recreate the server folder of a version without tokens, in which clients used the server's own ports.
    const { host } = up;
    const [forWorkers, ingressPort, adminPort] = JSON.parse(read("fronts.json")) as number[];
    writeFileSync(join(folder, "fronts.json"), JSON.stringify([forWorkers]));
    writeFileSync(
      join(folder, "ports.json"),
      JSON.stringify([{ ingress: ingressPort, admin: adminPort, fabric: 1 }]),
    );
    rmSync(join(folder, "token"));
    writeFileSync(join(folder, "signing-key.pem"), "damaged");
    up = await start();
    expect(up.host).toBe(host);
    const made = read("token").trim();
    expect(made).toMatch(/^[\w-]{43}$/);
    expect(made).not.toBe(token);
    expect(await store.json<{ name: string }[]>(["list"], { env })).toHaveLength(1);
    expect(existsSync(join(folder, "signing-key.pem"))).toBe(true);
  });
});

test("an invalid identity key is refused in one line", async () => {
  const words = ["worker", "--host", "restate://127.0.0.1:1", "--identity-key", "key"];
  expect(await store.run(words)).toEqual({
    ...{ code: 2, stdout: "" },
    stderr: expect.stringMatching(
      /^error: "key" is not the identity key of a server; hint: [^\n]*\n$/,
    ),
  });
});
