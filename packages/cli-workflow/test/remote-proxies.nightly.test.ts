import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort, missingProxy, proxyNames, startProxy } from "../../../test/proxies.ts";
import { ServingProcess, stopServing } from "../../server/test/serving.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { ended, playBundle, removeFolders, Store } from "./program.ts";

/*
 * Commands on a server behind the proxies of examples/deploy. Each prints the same as on the server's storage root.
 */
setDefaultTimeout(180_000);
afterAll(async () => {
  await stopServing();
  removeFolders();
});

const tokens = {
  ops: "operator-0123456789-abcdef",
  former: "former-0123456789-abcdefgh",
  viewer: "viewer-0123456789-abcdefgh",
};
const tokenFile = `ops operate ${tokens.ops}
viewer read ${tokens.viewer}
former operate ${tokens.former} 2020-01-01
`;

/** A command runs on the server (`far`) or on its storage root (`near`). Each side has its own workflows. */
const sides = ["far", "near"] as const;
type Side = (typeof sides)[number];

describe.each(proxyNames)("behind %s", (name) => {
  const missing = missingProxy(name);
  if (missing !== null) {
    test.skip(`skipped: ${missing}`, () => undefined);
    return;
  }

  const store = new Store();
  const serving = new ServingProcess();
  const port = freePort();
  const url = `https://localhost:${port}`;
  let stop = async () => {};
  let ids: { done: string; waiting: string };

  beforeAll(async () => {
    const file = serving.write("tokens", tokenFile);
    chmodSync(file, 0o600);
    serving.flags.push("--public-url", url, "--token-file", file);
    await serving.begin();
    const folder = join(store.folder, name);
    stop = await startProxy(name, { port, backend: serving.port, folder });
    for (const side of sides) await near("add", `play-${side}`, playBundle);
    ids = { done: await thread("near"), waiting: await thread("near", { ask: 1 }) };
  });
  afterAll(() => stop());

  const remote = (token: string) => ({
    UNCAGED_WORKFLOW_HOST: url,
    UNCAGED_WORKFLOW_TOKEN: token,
    // The proxy has a self-signed certificate.
    NODE_TLS_REJECT_UNAUTHORIZED: "0",
  });
  const local = { UNCAGED_WORKFLOW_STORAGE_ROOT: serving.path };
  const run = (side: Side, args: string[], { token = tokens.ops, cwd = serving.folder } = {}) =>
    store.run(args, { cwd, env: side === "far" ? remote(token) : local });

  async function near(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await run("near", args);
    if (code !== 0) throw new Error(`${args.join(" ")}: ${stderr}`);
    return stdout.trim();
  }

  /** Starts a thread, and waits for its end or its question. */
  async function thread(side: Side, params: object = {}): Promise<string> {
    const id = await near("run", `play-${side}`, "--params", JSON.stringify(params));
    await run("near", ["follow", id]);
    return id;
  }

  /** Starts a thread that waits for a file before its second step. */
  async function gated(side: Side): Promise<{ id: string; open: () => void }> {
    const path = join(store.folder, `gate-${crypto.randomUUID()}`);
    const params = JSON.stringify({ gate: { before: 2, path } });
    const id = await near("run", `play-${side}`, "--params", params);
    await serving.until(id, "running", 1);
    return { id, open: () => writeFileSync(path, "") };
  }

  /** Replaces the waiting time of a thread, which grows, and the server's folder, which clients do not show. */
  const still = (text: string): string =>
    text
      .replaceAll(/"(elapsedMs|waitedMs)":\d+/g, '"$1":0')
      .replaceAll(/in the storage root|in \/[^"]+\/root/g, "<root>");

  /** Replaces the parts that differ between two runs of a command: ids, times and the names of the sides. */
  const plain = (text: string): string =>
    text
      .replaceAll(/[0-9A-HJKMNP-TV-Z]{26}/g, "<id>")
      .replaceAll(/"(attempt|id)":"\w+"/g, '"$1":"<id>"')
      .replaceAll(/"unlisted":\[.*?\]/g, "<the workflows of both sides>")
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>")
      .replaceAll(/("\w*(?:[aA]t|Ms|timestamp)":)\s*[\d.]+/g, "$1 0")
      .replaceAll(/\b(far|near)\b/g, "<side>");

  test.each<[string, () => string[]]>([
    ["list", () => ["list"]],
    ["show", () => ["show", "play-near"]],
    ["history", () => ["history", "play-near"]],
    ["ps", () => ["ps"]],
    ["threads", () => ["threads"]],
    ["threads of a workflow", () => ["threads", "play-near"]],
    ["thread", () => ["thread", ids.done]],
    ["thread that waits", () => ["thread", ids.waiting]],
    ["follow", () => ["follow", ids.done]],
    ["logs", () => ["logs", ids.done]],
    ["diff", () => ["diff", ids.done, ids.waiting]],
    ["verify", () => ["verify"]],
    ["gc", () => ["gc", "--dry-run"]],
    ["a thread that does not exist", () => ["thread", "01ARZ3NDEKTSV4RRFFQ69G5FAV"]],
    ["a workflow that does not exist", () => ["run", "missing"]],
  ])("a command prints the same on both sides: %s", async (_, args) => {
    const outcomes = await Promise.all(
      sides.map(async (side) => {
        const { code, stdout, stderr } = await run(side, [...args(), "--json"]);
        return { code, stdout: still(stdout), stderr };
      }),
    );
    expect(outcomes[0]).toEqual(outcomes[1] as NonNullable<(typeof outcomes)[1]>);
  });

  test.each<[string, (side: Side) => string[] | Promise<string[]>]>([
    ["add", (side) => ["add", `other-${side}`, playBundle]],
    ["run", (side) => ["run", `play-${side}`, "--prompt", "go", "--wait"]],
    ["run that fails", (side) => ["run", `play-${side}`, "--params", '{"fail":2}', "--wait"]],
    ["run with a code", (side) => ["run", `play-${side}`, "--params", '{"code":7}', "--wait"]],
    ["pause", async (side) => ["pause", (await gated(side)).id]],
    [
      "resume",
      async (side) => {
        const { id, open } = await gated(side);
        await near("pause", id);
        open();
        await serving.until(id, "paused");
        return ["resume", id, "--wait"];
      },
    ],
    [
      "resume with an answer",
      async (side) => ["resume", await thread(side, { ask: 1 }), "--approve", "--wait"],
    ],
    ["kill", async (side) => ["kill", await thread(side, { ask: 1 })]],
    ["kill of an ended thread", async (side) => ["kill", await thread(side)]],
    ["fork", async (side) => ["fork", await thread(side), "--at-step", "1", "--wait"]],
    ["retry", async (side) => ["retry", await thread(side, { fail: 2 }), "--wait"]],
    ["rerun", async (side) => ["rerun", await thread(side), "--wait"]],
    ["thread rm", async (side) => ["thread", "rm", await thread(side)]],
    [
      "thread restore",
      async (side) => {
        const id = await thread(side);
        await near("thread", "rm", id);
        return ["thread", "restore", id];
      },
    ],
    ["wake", () => ["wake"]],
    [
      "rollback",
      async (side) => {
        const bundle = await Bun.file(playBundle).text();
        const file = serving.write(`second-${side}.esm.js`, `${bundle}\n// second\n`);
        await near("add", `rolled-${side}`, playBundle);
        await near("add", `rolled-${side}`, file);
        return ["rollback", `rolled-${side}`];
      },
    ],
    [
      "remove",
      async (side) => {
        await near("add", `removed-${side}`, playBundle);
        return ["remove", `removed-${side}`];
      },
    ],
  ])("a command does the same on both sides: %s", async (_, args) => {
    const outcomes = await Promise.all(
      sides.map(async (side) => {
        const { code, stdout, stderr } = await run(side, [...(await args(side)), "--json"]);
        return { code, stdout: plain(stdout), stderr: plain(stderr) };
      }),
    );
    expect(outcomes[0]).toEqual(outcomes[1] as NonNullable<(typeof outcomes)[1]>);
  });

  test.each<[string, (side: Side) => string[]]>([
    ["sync --check", () => ["sync", "--check"]],
    ["sync", () => ["sync"]],
    ["eval", (side) => ["eval", `play-${side}`, "cases.jsonl", "--score", "score.ts"]],
  ])("a command does the same in a project on both sides: %s", async (_, args) => {
    const outcomes = await Promise.all(
      sides.map(async (side) => {
        const cwd = join(store.folder, `project-${name}-${side}`);
        mkdirSync(cwd, { recursive: true });
        await Bun.write(join(cwd, "play.esm.js"), Bun.file(playBundle));
        writeFileSync(join(cwd, "cases.jsonl"), '{"id":"one","prompt":"go"}\n');
        writeFileSync(join(cwd, "score.ts"), "export default () => ({ score: 1 });");
        const workflows = { [`synced-${side}`]: "./play.esm.js" };
        writeFileSync(join(cwd, "uncaged.json"), JSON.stringify({ workflows }));
        const { code, stdout, stderr } = await run(side, [...args(side), "--json"], { cwd });
        return { code, stdout: plain(stdout), stderr: plain(stderr) };
      }),
    );
    expect(outcomes[0]).toEqual(outcomes[1] as NonNullable<(typeof outcomes)[1]>);
  });

  test.each([
    ["wrong", "another-0123456789-abcdefgh", "the server does not know this token"],
    ["cut", tokens.ops.slice(0, -1), "the server does not know this token"],
    ["expired", tokens.former, 'the token "former" has expired'],
    ["missing", "", "missing token"],
    ["of a reader", tokens.viewer, "the request needs the role operate"],
  ])("a token is refused in one line with exit code 1: %s", async (_, token, words) => {
    const { code, stdout, stderr } = await run("far", ["run", "play-far"], { token });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(words);
    expect(stderr.trimEnd()).not.toContain("\n");
  });

  test.each(["run", "follow"] as const)(
    "%s continues after kill -9 of the server",
    async (kind) => {
      const folder = join(store.folder, `killed-${kind}-${name}`);
      mkdirSync(folder);
      const path = join(folder, "gate");
      const params = JSON.stringify({ gate: { before: 2, path } });
      const first = kind === "follow" ? await near("run", "play-far", "--params", params) : "";
      const args =
        first === "" ? ["run", "play-far", "--params", params, "--wait"] : ["follow", first];
      const before = new Set((await serving.host.threads()).rows.map(({ threadId }) => threadId));
      const child = store.start(args, { cwd: serving.folder, env: remote(tokens.ops) });
      const result = ended(child);
      let id = first;
      await until(async () => {
        const { rows } = await serving.host.threads();
        id ||= rows.find(({ threadId }) => !before.has(threadId))?.threadId ?? "";
        return id !== "";
      });
      await serving.until(id, "running", 1);
      const backend = serving.port;
      await serving.end();
      await serving.serve(backend);
      writeFileSync(path, "");
      const outcome = await result;
      if (kind === "run") {
        expect(outcome).toEqual({ code: 0, stdout: `${id}\n`, stderr: "completed: played\n" });
      } else {
        expect(outcome).toEqual(await run("near", ["follow", id]));
      }
      expect((await serving.until(id, "completed")).stepCount).toBe(3);
    },
  );
});
