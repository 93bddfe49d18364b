import { afterAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { threadEnv } from "@uncaged/workflow/internal";
import { playBundle, removeFolders, untilNoWorker } from "./program.ts";
import { Projects } from "./projects.ts";

afterAll(removeFolders);

describe("a project", () => {
  test("has its own names and threads, which git ignores", async () => {
    const store = new Projects();
    const [one, other] = [store.project("one"), store.project("other")];
    await store.at(one).ok("add", "review", playBundle);
    expect(await store.at(other).json<object[]>("list")).toEqual([]);
    expect(await store.json<object[]>(["list"])).toEqual([]);
    expect(readFileSync(join(one, ".uncaged/.gitignore"), "utf8")).toBe("*\n");
    expect(existsSync(join(other, ".uncaged"))).toBe(false);
    const { stderr, code } = await store.at(other).run("run", "review");
    expect({ stderr, code }).toEqual({
      code: 4,
      stderr: `error: no workflow "review" found in ${other}/.uncaged; hint: list them: uncaged-workflow list\n`,
    });
    const inner = join(one, "src/deep");
    mkdirSync(inner, { recursive: true });
    await store.at(inner).ok("run", "review", "--wait");
    expect(await store.at(one).json<object[]>("threads")).toHaveLength(1);
    expect((await store.at(one).run("verify")).code).toBe(0);
  });

  test("is overridden by the environment variable; --root overrides both", async () => {
    const store = new Projects();
    const folder = store.project("one");
    const named = join(store.folder, "named");
    const root = async (args: string[], env = {}) => {
      const options = { cwd: folder, env };
      return await store.ok(["doctor", ...args], options);
    };
    const variable = { UNCAGED_WORKFLOW_STORAGE_ROOT: join(store.folder, "variable") };
    expect(await root([])).toBe(`all is well: ${folder}/.uncaged`);
    expect(await root([], variable)).toBe(`all is well: ${store.folder}/variable`);
    expect(await root(["--root", named], variable)).toBe(`all is well: ${named}`);
  });

  test("with nested projects keeps the projects separate, even through links", async () => {
    const store = new Projects();
    const outer = store.project("outer");
    const inner = store.project("outer/packages/inner");
    const link = join(store.folder, "link");
    symlinkSync(inner, link);
    const rootAt = (cwd: string) => store.at(cwd).ok("doctor");
    expect(await rootAt(join(outer, "packages"))).toEndWith(`${outer}/.uncaged`);
    expect(await rootAt(inner)).toEndWith(`${inner}/.uncaged`);
    expect(await rootAt(link)).toEndWith(`${inner}/.uncaged`);
  });

  test("with an invalid uncaged.json stops only the commands that need it, in one line", async () => {
    const store = new Projects();
    const folder = store.project("one", { roots: "x" });
    const { code, stderr } = await store.at(folder).run("list");
    expect(code).toBe(1);
    expect(stderr).toStartWith(
      `error: ${folder}/uncaged.json:1:10: unknown key "roots"; did you mean root?; hint: `,
    );
    expect(stderr.trimEnd()).not.toContain("\n");
    expect((await store.at(folder).run("version")).code).toBe(0);
    expect((await store.at(folder).run("list", "--root", "../other")).code).toBe(0);
    const { problems } = JSON.parse((await store.at(folder).run("doctor", "--json")).stdout);
    expect(problems).toMatchObject([{ code: "PROJECT_INVALID" }]);
  });
});

const envBundle = `export const descriptor = { description: "Reads its environment", roles: {} };
export async function* run({ prompt, steps }, { env }) {
  const read = (meta) => ({ role: "reader", content: [env.GREETING, env.BOTH].join(), meta });
  console.log("printed", env.GREETING);
  if (steps.length === 0) yield read({ own: process.env.GREETING ?? null });
  if (steps.length < 2) yield { role: "__wait__", content: "go on?", meta: { for: "go" } };
  if (steps.length < 4) yield read({});
  if (prompt === "fail") throw new Error("failed with " + env.GREETING);
  return { returnCode: 0, summary: "done" };
}
`;

type Thread = {
  status: string;
  steps: { role: string; content: string; meta: object }[];
  result: { summary: string } | null;
};

describe("the .env files of a project", () => {
  async function withEnv(text: string) {
    const store = new Projects();
    const folder = store.project("one", { env: [".env", "own.env"] });
    writeFileSync(join(folder, "env.esm.js"), envBundle);
    writeFileSync(join(folder, ".env"), text);
    await store.at(folder).ok("add", "env", "env.esm.js");
    const contents = async (id: string) =>
      (await store.at(folder).json<Thread>("thread", id)).steps.map(({ content }) => content);
    return { store, folder, contents, ...store.at(folder) };
  }

  test("set variables of a thread and its process.env, but not over the real environment, and not in the debug log", async () => {
    const { store, folder, ok, json } = await withEnv("GREETING=hello there\nBOTH=file");
    writeFileSync(join(folder, "own.env"), "GREETING=hello here");
    const shell = { cwd: folder, env: { BOTH: "shell" } };
    const args = ["run", "env", "--prompt", "fail", "--wait", "-q"];
    const id = (await store.run(args, shell)).stdout.trim();
    expect((await json<Thread>("thread", id)).steps[0]).toMatchObject({
      content: "hello here,shell",
      meta: { own: "hello here" },
    });
    expect((await store.at(folder).run("resume", id, "--input", "yes", "--wait")).code).toBe(1);
    expect((await json<Thread>("thread", id)).result?.summary).toBe("failed with ***");
    const log = await ok("logs", id);
    expect(log).toContain("printed ***");
    expect(log).not.toContain("hello here");
  });

  test("can't set variables that locate programs or configure uncaged-workflow", async () => {
    const names = [
      "UNCAGED_PLAN_HOME",
      "LD_PRELOAD",
      "BUN_OPTIONS",
      "NODE_OPTIONS",
      "XDG_CONFIG_HOME",
    ];
    const folder = new Projects().project("one");
    const text = [...names, "OTHER"].map((name) => `${name}=planted`).join("\n");
    writeFileSync(join(folder, ".env"), text);
    expect(await threadEnv(folder, {})).toEqual({ OTHER: "planted" });
  });

  test("are read again for a resume from elsewhere, a retry and a fork", async () => {
    const { store, folder, contents, ok, run } = await withEnv("GREETING=hello one");
    const id = (await run("run", "env", "--prompt", "fail", "--wait", "-q")).stdout.trim();
    writeFileSync(join(folder, ".env"), "GREETING=hello two");
    const root = join(folder, ".uncaged");
    await untilNoWorker(root);
    await store.run(["resume", id, "--input", "yes", "--wait", "--root", root]);
    expect((await contents(id)).at(-1)).toBe("hello two,");
    writeFileSync(join(folder, ".env"), "GREETING=hello three");
    const fork = await ok("fork", id, "--at-step", "3", "--prompt", "go", "--wait", "-q");
    expect((await contents(fork)).at(-1)).toBe("hello three,");
    await untilNoWorker(root);
    await store.run(["retry", id, "--wait"], { cwd: folder });
    const { result } = await store.at(folder).json<Thread>("thread", "@last");
    expect(result?.summary).toBe("failed with ***");
  });

  test("with an invalid line start nothing: the error has the file and the line, but not its content", async () => {
    const { folder, run, json } = await withEnv("A=1\nhunter2 hunter2\n");
    expect(await run("run", "env")).toEqual({
      code: 1,
      stdout: "",
      stderr: `error: ${folder}/.env:2: expected NAME=value; hint: write NAME=value, with quotes around a value of several lines, and # before a comment\n`,
    });
    expect(await json<object[]>("threads")).toEqual([]);
  });
});

describe("the workflows that a project lists", () => {
  const source = (note: string) => `// ${note}
export const descriptor = { description: "one step", roles: {} };
export async function* run() {
  yield { role: "one", content: "${note}", meta: {} };
  return { returnCode: 0, summary: "done" };
}
`;

  function listing(workflows: Record<string, string>) {
    const store = new Projects();
    const folder = store.project("one", { workflows });
    mkdirSync(join(folder, "src"));
    const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
    write("src/good.ts", source("good"));
    write("bad.ts", "export cnst");
    return { store, folder, write, ...store.at(join(folder, "src")) };
  }
  type Sync = { ok: boolean; workflows: Record<string, unknown>[]; unlisted: string[] };
  const states = ({ workflows }: Sync) =>
    workflows.map(({ name, state }) => `${String(name)} ${String(state)}`);

  test("are added by add without arguments; each error is reported, and a failed workflow stays unchanged", async () => {
    const { folder, run, json, ok } = listing({
      ...{ bad: "bad.ts", good: "src/good.ts", none: "none.ts", play: playBundle },
    });
    const { code, stdout, stderr } = await run("add");
    expect(code).toBe(1);
    expect(
      stdout
        .trim()
        .split("\n")
        .map((line) => line.slice(13)),
    ).toEqual(["  good", "  play"]);
    const errors = stderr.split("\n").filter((line) => line.startsWith("error: "));
    expect(errors).toHaveLength(2);
    expect(errors[0]).toStartWith(`error: bad: ${folder}/bad.ts:1:8: `);
    expect(errors[1]).toMatch(/^error: none: ".*": no such file;/);
    expect((await json<{ name: string }[]>("list")).map(({ name }) => name)).toEqual([
      ...["good", "play"],
    ]);
    const again = JSON.parse((await run("add", "--json")).stdout) as object[];
    expect(again).toMatchObject([
      { name: "bad", error: { code: "BUILD_FAILED" } },
      { name: "good", unchanged: true },
      { name: "none", error: { code: "NO_SUCH_FILE" } },
      { name: "play", unchanged: true },
    ]);
    expect(await ok("add", "good")).toHaveLength(13);
  });

  test("are added by name only", async () => {
    const { run, ok } = listing({ good: "src/good.ts" });
    const { stderr } = await run("run", "good");
    expect(stderr).toContain("add the project's workflow first: uncaged-workflow add good");
    await ok("add", "good");
    await ok("run", "good", "--wait");
    expect(await run("add", "god")).toMatchObject({
      code: 4,
      stderr: expect.stringContaining("did you mean good?"),
    });
  });

  test("can't be added if the project lists none or there is no project", async () => {
    const { store, run } = listing({});
    expect(await run("add")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("lists no workflow"),
    });
    for (const command of ["add", "sync"]) {
      expect(await store.run([command])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("not in a project"),
      });
    }
  });

  test("are registered by sync, and only checked by sync on CI", async () => {
    const { store, folder, write, run, json, ok } = listing({ good: "src/good.ts" });
    const check = async (...args: string[]) => {
      const options = { cwd: folder, env: { CI: "true" } };
      const { code, stdout } = await store.run(["sync", ...args, "--json"], options);
      return { code, ...(JSON.parse(stdout) as Sync) };
    };
    const missing = await check();
    expect(states(missing)).toEqual(["good missing"]);
    expect(missing).toMatchObject({ code: 1, ok: false, workflows: [{ registered: null }] });
    expect(existsSync(join(folder, ".uncaged"))).toBe(false);
    expect(states(await json<Sync>("sync"))).toEqual(["good added"]);
    expect(states(await json<Sync>("sync"))).toEqual(["good unchanged"]);
    expect(await check()).toMatchObject({ code: 0, ok: true, unlisted: [] });
    write("src/good.ts", source("better"));
    const changed = await run("sync", "--check");
    expect(changed.code).toBe(1);
    expect(changed.stdout).toMatch(
      /^[0-9A-Z]{13} {2}good {2}changed: [0-9A-Z]{13} is registered\n$/,
    );
    write("src/good.ts", "export cnst");
    expect(await check()).toMatchObject({
      code: 1,
      workflows: [{ error: { code: "BUILD_FAILED" } }],
    });
    write("src/good.ts", source("better"));
    expect(await check("--no-check")).toMatchObject({ code: 0, ok: true });
    await ok("add", "other", playBundle);
    expect(await check()).toMatchObject({ code: 0, ok: true, unlisted: ["other"] });
  });
});

test("a shared folder is refused as a storage root", async () => {
  const store = new Projects();
  const shared = join(store.folder, "shared");
  mkdirSync(shared);
  chmodSync(shared, 0o1777);
  const { code, stderr } = await store.run(["list", "--root", shared]);
  expect(code).toBe(1);
  expect(stderr).toEndWith(`hint: give a folder of its own: ${shared}/uncaged\n`);
});

describe("an edited source that the project lists", () => {
  const workflow = `import { word } from "./lib.ts";
    export const descriptor = { description: "", roles: {} };
    export async function* run() { return { returnCode: 0, summary: word }; }`;
  const word = (text: string) => `export const word = "${text}";`;

  type Ended = { result: { summary: string } };

  const made = async () => {
    const store = new Projects();
    const folder = store.project("one", { workflows: { review: "src/review.ts" } });
    mkdirSync(join(folder, "src"));
    const write = (file: string, text: string) => writeFileSync(join(folder, file), text);
    write("src/lib.ts", word("one"));
    write("src/review.ts", workflow);
    await store.at(folder).ok("add");
    const run = async (...args: string[]) => {
      const { stdout, stderr, code } = await store
        .at(folder)
        .run("run", "review", "--wait", ...args);
      expect(code).toBe(0);
      return { stdout, stderr };
    };
    return { store, folder, write, run };
  };

  test("is reported by run, and run --add runs it", async () => {
    const { folder, store, write, run } = await made();
    expect((await run()).stderr).not.toContain("differs");
    write("src/lib.ts", word("two"));
    const note =
      "src/lib.ts differs from the version of review that runs; run it: uncaged-workflow run review --add\n";
    expect((await run()).stderr).toContain(note);
    const asJson = await run("--json");
    expect((JSON.parse(asJson.stdout) as Ended).result.summary).toBe("one");
    const added = JSON.parse((await run("--add", "--json")).stdout) as Ended;
    expect(added.result.summary).toBe("two");
    expect((await run()).stderr).not.toContain("differs");
    write("src/review.ts", workflow.replace("word }", "word + '!' }"));
    const inner = await store.at(join(folder, "src")).run("run", "review");
    expect(inner.stderr).toStartWith("review.ts differs from the version of review");
    const [version] = await store.at(folder).json<{ hash: string }[]>("history", "review");
    const exact = await store.at(folder).run("run", `review@${version?.hash}`);
    expect(exact).toMatchObject({ code: 0, stderr: "" });
  });

  test("is not reported if it is missing, and run --add fails with its path", async () => {
    const { folder, store, run } = await made();
    rmSync(join(folder, "src/review.ts"));
    expect((await run()).stderr).not.toContain("differs");
    const { code, stderr } = await store.at(folder).run("run", "review", "--add");
    expect(code).toBe(4);
    expect(stderr).toContain(`"${folder}/src/review.ts": no such file`);
  });

  test("can be a part of a document, or a bundle", async () => {
    const store = new Projects();
    const folder = store.project("one", { workflows: { flow: "flow.json", made: "made.esm.js" } });
    const document = (...steps: object[]) =>
      JSON.stringify({
        ...{ version: "3.0", name: "w", registry: {} },
        steps: [...steps, { id: "Stop_End", in: { reason: "done" } }],
      });
    const call = {
      ...{ id: "Tool_WorkflowRun", input: { workflow_path: "part.json" }, next: "Stop_End" },
    };
    const write = (file: string, text: string) => writeFileSync(join(folder, file), text);
    write("part.json", document());
    write("flow.json", document(call));
    const bundle = readFileSync(playBundle, "utf8");
    write("made.esm.js", bundle);
    await store.at(folder).ok("add");
    const noteOf = async (name: string) => (await store.at(folder).run("run", name)).stderr;
    expect(await noteOf("flow")).toBe("");
    expect(await noteOf("made")).toBe("");
    write("part.json", `${document()}\n`);
    write("made.esm.js", `${bundle}\n`);
    expect(await noteOf("flow")).toStartWith("part.json differs");
    expect(await noteOf("made")).toStartWith("made.esm.js differs");
  });
});

test("add of a file uses the name that the project lists for the file", async () => {
  const store = new Projects();
  const folder = store.project("one", { workflows: { review: "flows/review.esm.js" } });
  mkdirSync(join(folder, "flows"));
  copyFileSync(playBundle, join(folder, "flows/review.esm.js"));
  copyFileSync(playBundle, join(folder, "flows/other.esm.js"));
  const at = store.at(join(folder, "flows"));
  expect(await at.json<object>("add", "review.esm.js")).toMatchObject({ name: "review" });
  const add = async (file: string) => (await at.run("add", file)).stderr;
  expect(await add("other.esm.js")).toContain('missing name for the workflow of "other.esm.js"');
  expect(await add("nope.ts")).toContain('no file "nope.ts" found');
});

test("run --add is refused for a file and for an unlisted workflow", async () => {
  const store = new Projects();
  const folder = store.project("one");
  const { stderr, code } = await store.at(folder).run("run", "./x.ts", "--add");
  expect({ stderr, code }).toEqual({
    code: 2,
    stderr: `error: --add is for a name, and "./x.ts" is a file; hint: leave out --add: a file is built each time it runs\n`,
  });
  expect((await store.at(folder).run("run", "review", "--add")).code).toBe(4);
  expect((await store.run(["run", "review", "--add"])).code).toBe(2);
});
