// @cluster: starts a server on a full disk.
import {
  afterAll,
  afterEach,
  beforeAll,
  describe,
  expect,
  setDefaultTimeout,
  test,
} from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../workflow/test/fixtures/until.ts";
import { missingServer } from "../../workflow-restate/test/fixtures/server.ts";
import { SmallDisk, unmountAll, whyNoMounts } from "./mounts.ts";
import { newFolder, playBundle, removeFolders, Store } from "./program.ts";

setDefaultTimeout(180_000);

type Thread = { status: string; steps: unknown[] };

const store = new Store();
const why = missingServer === "" ? whyNoMounts() : null;
const isSkipped = missingServer !== "" || why !== null;
let disk: SmallDisk;
let env: Record<string, string>;
let worker: Bun.Subprocess<Uint8Array, "pipe", "pipe">;

beforeAll(async () => {
  if (isSkipped) return;
  const folder = join(store.root, "cluster");
  mkdirSync(folder, { recursive: true });
  disk = new SmallDisk(folder, 400 * 1024);
  const { host } = await store.json<{ host: string }>(["cluster", "up", "--workers", "0"]);
  env = { UNCAGED_WORKFLOW_HOST: host };
  const words = ["worker", "--port", "0", "--cache", newFolder(), "--json"];
  worker = store.start(words, { env });
  await worker.stdout.getReader().read();
  await store.ok(["add", "play", playBundle], { env });
});
// Free the space that a failed try used, so that a retry can succeed.
afterEach(() => {
  if (!isSkipped) disk.free();
});
afterAll(async () => {
  if (!isSkipped) {
    worker.kill("SIGKILL");
    await worker.exited;
    await store.ok(["cluster", "down"]);
    unmountAll();
  }
  removeFolders();
});

const reason = why === null ? missingServer : `: ${why}`;
describe.skipIf(isSkipped)(`on a server whose disk is full${reason}`, () => {
  test("commands fail with one line, and no data is lost after space is freed", async () => {
    const shown = (id: string) => store.json<Thread>(["thread", id], { env });
    const play = (params: object, prompt: string, ...more: string[]) => {
      const words = ["run", "play", "--params", JSON.stringify(params), "--prompt", "-", ...more];
      return store.run(words, { env, stdin: prompt });
    };
    const path = join(newFolder(), "gate");
    const gated = (await play({ steps: 5, gate: { before: 3, path } }, "go")).stdout.trim();
    await until(async () => (await shown(gated)).steps.length === 2);

    disk.fill();
    const taken: string[] = [];
    let refused = { code: 0, stdout: "", stderr: "" };
    // The server's existing files still have space.
    for (let n = 0; n < 20 && refused.code === 0; n += 1) {
      refused = await play({}, String(n).repeat(8 << 20));
      if (refused.code === 0) taken.push(refused.stdout.trim());
    }
    const oneLine = /^error: [^\n]+\n$/;
    expect(refused).toEqual({ code: 1, stdout: "", stderr: expect.stringMatching(oneLine) });
    // The error names no thread if the server failed before the thread was created.
    const [id] = refused.stderr.match(/(?<= --thread-id )\w{26}(?=\n$)/) ?? [];
    writeFileSync(path, "");
    if (id !== undefined) {
      const { code, stderr } = await store.run(["kill", id], { env });
      expect(code).not.toBe(0);
      expect(stderr).toMatch(oneLine);
    } else {
      expect(refused.stderr).toStartWith("error: query: ");
    }

    disk.free();
    const given = id === undefined ? [] : ["--thread-id", id];
    const again = async () => {
      const { code, stdout } = await play({}, "go", ...given);
      if (code === 0) taken.push(stdout.trim());
      return code === 0;
    };
    await until(again);
    for (const each of [gated, ...taken]) {
      const isOver = async () =>
        ["completed", "killed"].includes(
          await shown(each).then(
            ({ status }) => status,
            () => "",
          ),
        );
      await until(isOver);
    }
    expect((await shown(gated)).steps).toHaveLength(5);
    expect(await store.json<object>(["verify"], { env })).toMatchObject({ problems: [] });
  });
});
