import { afterAll, beforeAll, expect, test } from "bun:test";
import { programWords } from "./command.ts";
import { ended, hasScript, playStore, removeFolders, type Store } from "./program.ts";

afterAll(removeFolders);

let store: Store;
let id: string;

beforeAll(async () => {
  store = await playStore();
  id = await store.play({ steps: 40, say: "x".repeat(20_000) }, "--wait");
});

/** Runs a shell line in which `uw` is the program. */
async function shell(line: string, env: Record<string, string> = {}) {
  const child = Bun.spawn(["/bin/sh", "-c", line, "sh", ...programWords], {
    cwd: store.folder,
    env: { ...store.env, ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  return await ended(child);
}

test("a reader that exits early ends the program without an error", async () => {
  const { stdout, stderr } = await shell(
    `{ "$@" thread ${id} --full; echo "code $?" >&2; } | head -n 1`,
  );
  expect(stdout).toContain(id);
  expect(stderr).toBe("code 141\n");
});

test("a slow reader receives everything", async () => {
  const { stdout } = await shell(`"$@" thread ${id} --json | { sleep 0.3; cat; }`);
  expect(JSON.parse(stdout)).toMatchObject({ threadId: id });
  expect(stdout.length).toBeGreaterThan(800_000);
});

test("a closed stdout does not crash the program", async () => {
  const { code, stderr } = await shell(`"$@" list >&-`);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
});

test("a closed stderr does not crash the program", async () => {
  const { code, stdout } = await shell(`"$@" thread nothing 2>&-`);
  expect({ code, stdout }).toEqual({ code: 4, stdout: "" });
});

test.if(process.platform === "linux")("a full disk under stdout is a one-line error", async () => {
  for (const command of ["list", "list --json", "list --help"]) {
    const { code, stderr } = await shell(`"$@" ${command} >/dev/full`);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: can't write the output: the disk is full; hint: [^\n]+\n$/);
  }
});

test("a pipe gets no color, full lines and full ids", async () => {
  const { stdout } = await store.run(["threads"], { env: { FORCE_COLOR: "1", COLUMNS: "20" } });
  expect(stdout).not.toContain("\u001b");
  expect(stdout).toContain(id);
});

test("an empty list suggests the next command on stderr", async () => {
  const { stdout, stderr } = await store.run(["threads", "--status", "corrupt"]);
  expect(stdout).toBe("");
  expect(stderr).toBe("no thread matches; see all: uncaged-workflow threads\n");
});

test("the program works without stdin and a terminal, and in another locale", async () => {
  const { code, stdout } = await shell(`"$@" list </dev/null`, { LC_ALL: "C", TERM: "" });
  expect(code).toBe(0);
  expect(stdout).toContain("play");
});

test.if(hasScript)("a terminal gets color unless color is turned off", async () => {
  expect(await store.onTerminal("threads")).toContain("\u001b[32m✔ completed");
  expect(await store.onTerminal("threads --no-color")).not.toContain("\u001b[32m");
  expect(await store.onTerminal("threads", { NO_COLOR: "1" })).not.toContain("\u001b[32m");
  expect(await store.onTerminal("threads", { TERM: "dumb" })).not.toContain("\u001b[32m");
});

test.if(hasScript)("a terminal shows short ids and indented JSON", async () => {
  const shown = await store.onTerminal("threads");
  expect(shown).toContain(id.slice(-8));
  expect(shown).not.toContain(id);
  expect(await store.onTerminal("version --json")).toContain('{\r\n  "version"');
});

test.if(hasScript)(
  "a terminal shows a spinner while a step runs, except with TERM=dumb",
  async () => {
    const shown = await store.onTerminal(`run play --follow --params '{"ms":400,"steps":1}'`, {});
    expect(shown).toContain("since the start");
    expect(shown).toContain("\u001b[2K");
    const dumb = await store.onTerminal(`run play --follow --params '{"ms":400,"steps":1}'`, {
      TERM: "dumb",
    });
    expect(dumb).not.toContain("since the start");
  },
);
