import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findBubblewrap } from "../src/sandbox/bubblewrap.ts";
import { until } from "./fixtures/until.ts";

setDefaultTimeout(180_000);
const runner = fileURLToPath(new URL("./fixtures/inspecting.ts", import.meta.url));
const asNobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];
const hasSandbox = typeof (await findBubblewrap({ PATH: process.env.PATH })) !== "string";

const runs = (argv: string[]) =>
  Bun.which(argv[0] ?? "") !== null && Bun.spawnSync([...argv, "--version"]).success;
const canBeNobody = process.getuid?.() === 0 && runs([...asNobody, process.execPath]);
const users = [
  { user: "this user", as: [] as string[], isHere: hasSandbox },
  { user: "an ordinary user", as: asNobody, isHere: hasSandbox && canBeNobody },
];

// A folder that an unprivileged user may write to.
let folder = "";
beforeEach(() => {
  folder = mkdtempSync("/tmp/uncaged-inspected-");
  chmodSync(folder, 0o777);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

type Loading = {
  as?: string[];
  env?: Record<string, string>;
  maxMemory?: number;
  sandbox?: "required";
};

/** Loads a bundle with this top-level code. The code reports through `said`, which becomes the description. */
async function loaded(
  topLevel: string,
  { as = [], env = {}, ...options }: Loading = {},
): Promise<{ code?: string; message?: string; description?: string }> {
  const path = join(folder, "b.esm.js");
  writeFileSync(
    path,
    `import fs from "node:fs"; import net from "node:net"; import { spawn } from "node:child_process";
    let said = []; ${topLevel}
    export const descriptor = { description: JSON.stringify(said), roles: {} };
    export async function* run() {}`,
  );
  const argv = [...as, process.execPath, runner, path, JSON.stringify({ file: "b", ...options })];
  const child = Bun.spawn(argv, {
    stdout: "pipe",
    env: { ...process.env, TMPDIR: folder, ...env },
  });
  return JSON.parse(await child.stdout.text());
}

const attempts = `const attempt = async (name, act) => {
  try { const got = await act(); if (got !== undefined) said.push([name, got]); } catch {}
};`;

describe.each(users)("the top level of a bundle that $user adds", ({ as, isHere }) => {
  const inSandbox = test.skipIf(!isHere);

  inSandbox("can't read or write the user's files", async () => {
    const secret = join(folder, "secret");
    const made = join(folder, "made");
    writeFileSync(secret, "secret", { mode: 0o666 });
    const read = [
      secret,
      `${homedir()}/.ssh`,
      `${homedir()}/.bashrc`,
      "/etc/shadow",
      join(runner, "../../inspect.test.ts"),
    ];
    // Only open the files: without a sandbox, a write would change this machine.
    const own = join(import.meta.dir, "../src/bundle/inspect.ts");
    const open = ["/etc/passwd", "/usr/bin/env", "/proc/sys/kernel/core_pattern", own];
    const answer = await loaded(
      `${attempts}
      const read = (path) => fs.statSync(path).isFile() ? fs.readFileSync(path, "utf8") : fs.readdirSync(path);
      for (const path of ${JSON.stringify(read)}) await attempt(path, () => read(path));
      for (const path of ${JSON.stringify(open)}) await attempt(path, () => fs.closeSync(fs.openSync(path, "a")) ?? "open");
      for (const folder of ["/", "/usr", "/etc"]) await attempt(folder, () => fs.accessSync(folder, fs.constants.W_OK) ?? "writable");
      // These paths are in its own /tmp.
      for (const path of ${JSON.stringify([secret, made])}) await attempt(path, () => fs.appendFileSync(path, "x"));
      fs.writeFileSync("own", "x"); said.push(fs.readdirSync("."));`,
      { as },
    );
    const said = JSON.parse(answer.description ?? "null") as unknown[];
    expect(said).toEqual([["own"]]);
    expect([existsSync(made), await Bun.file(secret).text()]).toEqual([false, "secret"]);
  });

  inSandbox("has no network and no variables, and leaves no process", async () => {
    const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("in") });
    const mark = `mark-${crypto.randomUUID()}`;
    const answer = await loaded(
      `${attempts}
      await attempt("connect", () => new Promise((done, failed) =>
        net.connect(${server.port}, "127.0.0.1", () => done("reached")).on("error", failed)));
      await attempt("env", () => Object.keys(process.env).join() || undefined);
      await attempt("environ", () => fs.readdirSync("/proc").filter((id) => /^\\d+$/.test(id))
        .map((id) => { try { return fs.readFileSync("/proc/" + id + "/environ", "utf8"); } catch { return ""; } })
        .find((text) => text.includes("MY_SECRET")));
      spawn("setsid", ["sh", "-c", ": ${mark}; sleep 600; true"], { detached: true, stdio: "ignore" }).unref();`,
      { as, env: { MY_SECRET: "x" } },
    );
    await server.stop(true);
    expect(answer).toEqual({ description: "[]", roles: {} } as object);
    await until(() => !Bun.spawnSync(["ps", "-eo", "args"]).stdout.toString().includes(mark));
  });

  inSandbox("is refused with the reason of the failure", async () => {
    expect(await loaded("throw new Error('no');", { as })).toEqual({
      code: "BUNDLE_LOAD_FAILED",
      message: expect.stringMatching(/^b:2:\d+: no$/),
    });
    const memory = "for (;;) said.push(Buffer.alloc(1 << 20, 1));";
    expect(await loaded(memory, { as, maxMemory: 300 << 20 })).toEqual({
      code: "BUNDLE_LOAD_FAILED",
      message: "b: used more than 300 MiB to load",
    });
    const inChild = `spawn("sh", ["-c", "x=$(head -c 400000000 /dev/zero | tr '\\\\0' a); sleep 60"]);
      await new Promise(() => {});`;
    expect((await loaded(inChild, { as, maxMemory: 300 << 20 })).message).toContain("300 MiB");
  });
});

describe.skipIf(!hasSandbox)("without bubblewrap", () => {
  const bwrap = Bun.which("bwrap") ?? "";
  const hidden = [bwrap, "--dev-bind", "/", "/", "--ro-bind", "/dev/null", bwrap, "--"];

  test("a bundle is loaded without a sandbox, or refused with one line if a sandbox is required", async () => {
    expect(await loaded("", { as: hidden })).toMatchObject({ description: "[]" });
    expect(await loaded("", { as: hidden, sandbox: "required" })).toEqual({
      code: "SANDBOX_MISSING",
      message: "a sandbox is required: bubblewrap is not installed",
    });
  });
});
