import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Store, newFolder, playStore, removeFolders } from "./program.ts";

afterAll(removeFolders);

let store: Store;
let ended: string;
let files: string;

beforeAll(async () => {
  store = await playStore();
  ended = await store.play();
  await store.until(ended, "completed");
  files = newFolder();
  mkdirSync(join(files, "folder.esm.js"));
  writeFileSync(join(files, "empty.esm.js"), "");
  writeFileSync(join(files, "broken.esm.js"), "export const run = ;\n");
  writeFileSync(join(files, "two.esm.js"), 'import "left-pad";\nexport default 1;\n');
  writeFileSync(join(files, "latin.txt"), new Uint8Array([0x61, 0xe9, 0x62]));
});

/** Expects one line that names the error, the right exit code, and no writes. */
async function expectRefusal(
  args: string[],
  code: number,
  message: string | RegExp,
): Promise<void> {
  const before = store.tree();
  const result = await store.run(args, { cwd: files });
  expect(result.stdout).toBe("");
  expect(result.stderr).toMatch(/^error: [^\n]+\n$/);
  expect(result.stderr).toMatch(message);
  expect(result.stderr.trimEnd()).not.toMatch(/\p{Cc}/u);
  expect(result.code).toBe(code);
  expect(store.tree()).toEqual(before);
}

const isWhole = process.env.TEST_CASES === "all";
const hostile = ["../x", "a\u0007", ...(isWhole ? ["..", "a/b", "a\\b", "x".repeat(300)] : [])];

describe("a workflow's name", () => {
  for (const name of [...hostile, ".", "con", "a b", "é"]) {
    test(`${JSON.stringify(name).slice(0, 20)} can't be added`, async () => {
      await expectRefusal(["add", name, join(import.meta.dir, "bundle/play.esm.js")], 2, "error");
    });
  }

  for (const name of [...hostile, ""]) {
    test(`${JSON.stringify(name).slice(0, 20)} is not found by any command`, async () => {
      const commands = ["show", "history", "remove", "rollback", "threads"];
      await Promise.all([
        ...commands.map((command) => expectRefusal([command, name], 4, "no workflow")),
        expectRefusal(["run", name], 4, name.includes("/") ? "no such file" : "no workflow"),
      ]);
    });
  }
});

describe("a thread's id", () => {
  for (const id of [...hostile, "@first", "UUUUUUUUUUUUUUUUUUUUUUUUUU"]) {
    test(`${JSON.stringify(id).slice(0, 20)} is not found by any command`, async () => {
      const commands = ["thread", "thread rm", "kill", "pause", "resume", "fork", "retry", "logs"];
      await Promise.all(
        commands.map((command) => expectRefusal([...command.split(" "), id], 4, "no thread")),
      );
    });
  }

  test("that the caller chooses must be a ULID", async () => {
    for (const id of ["..", "x".repeat(300), "01KQXKW18CT8G75T53R8F4G7Y"]) {
      await expectRefusal(["run", "play", "--thread-id", id], 2, "is not a thread id");
    }
  });
});

describe("a number", () => {
  const limits: [string[], string][] = [
    [["run", "play", "--max-rounds"], "--max-rounds"],
    [["fork", "@last", "--max-rounds"], "--max-rounds"],
    [["fork", "@last", "--at-step"], "--at-step"],
    [["retry", "@last", "--max-rounds"], "--max-rounds"],
    [["threads", "--limit"], "--limit"],
    [["threads", "--offset"], "--offset"],
    [["logs", "@last", "--tail"], "--tail"],
  ];
  for (const [args, option] of limits) {
    test(`of ${args.join(" ")} must be whole and within its range`, async () => {
      const more = isWhole ? ["1.5", "1e9999", "many", ""] : [];
      for (const text of ["-1", "9".repeat(300), ...more]) {
        await expectRefusal([...args, text], 2, new RegExp(`${option} can't be .*from [01] to`));
      }
    });
  }

  test("of rounds is at least 1 and at most 1,000,000", async () => {
    await expectRefusal(["run", "play", "--max-rounds", "0"], 2, "from 1 to 1,000,000");
    await expectRefusal(["run", "play", "--max-rounds", "1000001"], 2, "from 1 to 1,000,000");
  });
});

describe("a path", () => {
  test("to a missing file is reported", async () => {
    await expectRefusal(["add", "x", "none.esm.js"], 4, "none.esm.js");
    await expectRefusal(["add", "x", "none.ts"], 4, "none.ts");
    await expectRefusal(["build", "none.ts"], 4, "none.ts");
    await expectRefusal(["run", "play", "--prompt-file", "none.txt"], 4, "none.txt");
    await expectRefusal(["run", "play", "--params", "@none.json"], 4, "none.json");
  });

  test("that is empty, or to an empty file, is reported", async () => {
    await expectRefusal(["add", "x", "empty.esm.js"], 1, "is empty");
    await expectRefusal(["run", "play", "--prompt-file", ""], 4, "prompt-file");
    await expectRefusal(["list", "--root", ""], 2, "--root");
  });

  test("to a folder is reported", async () => {
    await expectRefusal(["add", "x", "folder.esm.js"], 2, "folder");
    await expectRefusal(["run", "play", "--prompt-file", "."], 2, "folder");
  });

  test("to a file without UTF-8 text is reported", async () => {
    await expectRefusal(["run", "play", "--prompt-file", "latin.txt"], 2, "not UTF-8");
  });

  test("to an endless file is read only up to the limit", async () => {
    await expectRefusal(["run", "play", "--prompt-file", "/dev/zero"], 2, "longer than 64 MiB");
  });

  test("that is not a valid output path is reported, and no file is written", async () => {
    await expectRefusal(["build", "none.ts", "-o", "review.js"], 2, ".esm.js");
    await expectRefusal(["new", join(files, "empty.esm.js")], 2, "is a file");
    await expectRefusal(["new", files, "--name", "x"], 2, "not empty");
  });

  test("to an unreadable file is reported", async () => {
    symlinkSync("loop.txt", join(files, "loop.txt"));
    await expectRefusal(["run", "play", "--prompt-file", "loop.txt"], 1, "can't be read");
  });
});

describe("a bundle", () => {
  test("that is not a module is reported with its line", async () => {
    await expectRefusal(["add", "x", "broken.esm.js"], 1, /broken\.esm\.js:1:\d+/);
  });

  test("that breaks several rules is reported line by line", async () => {
    const before = store.tree();
    const { code, stderr } = await store.run(["add", "x", "two.esm.js"], { cwd: files });
    const lines = stderr.trimEnd().split("\n");
    expect(code).toBe(1);
    expect(lines.filter((line) => /^error: two\.esm\.js:\d+:\d+: /.test(line))).toHaveLength(4);
    expect(lines.at(-1)).toStartWith("hint: ");
    expect(store.tree()).toEqual(before);
  });

  test("that breaks several rules lists all of them in details for programs", async () => {
    const { stdout } = await store.run(["add", "x", "two.esm.js", "--json"], { cwd: files });
    const { error } = JSON.parse(stdout) as { error: { code: string; details: string[] } };
    expect(error.code).toBe("BUNDLE_REFUSED");
    expect(error.details).toHaveLength(4);
  });
});

describe("a wrong argument", () => {
  test("that names a missing version is refused", async () => {
    await expectRefusal(["rollback", "play", "ZZZZZZZ"], 4, "no version");
    await expectRefusal(["run", "play@ZZZZZZZ"], 4, "no version");
    await expectRefusal(["rollback", "play"], 1, "has only the version");
  });

  test("that names a missing role or step is refused", async () => {
    await expectRefusal(["fork", ended, "--from-role", "nobody"], 4, "nobody");
    await expectRefusal(["fork", ended, "--from-role", "coder#9"], 4, "not 9");
    await expectRefusal(["fork", ended, "--at-step", "9"], 4, "not 9");
  });

  test("that resembles a workflow name gets a suggestion", async () => {
    await expectRefusal(["run", "paly"], 4, "did you mean play?");
    await expectRefusal(["show", "PLAY"], 4, "did you mean play?");
  });

  test("that is an unknown command or option is refused", async () => {
    await expectRefusal(["rnu"], 2, "did you mean run?");
    await expectRefusal(["run", "play", "--promt", "x"], 2, "did you mean --prompt");
    await expectRefusal(["frobnicate"], 2, "unknown command");
    await expectRefusal(["thread"], 2, "missing required argument");
    await expectRefusal(["list", "more"], 2, "too many arguments");
  });

  test("that is an invalid value of an option is refused", async () => {
    await expectRefusal(["threads", "--status", "done"], 2, "Allowed choices");
    await expectRefusal(["run", "play", "--durability", "none"], 2, "Allowed choices");
    await expectRefusal(["completion", "tcsh"], 2, "Allowed choices");
    await expectRefusal(["logs", ended, "--since", "yesterday"], 2, "--since");
    await expectRefusal(["run", "play", "--wait", "--follow"], 2, "cannot be used");
    await expectRefusal(["run", "play", "--prompt", "a", "--prompt-file", "b"], 2, "together");
    await expectRefusal(["run", "play", "--params", "{"], 2, "--params:1:2: ");
    await expectRefusal(["run", "play", "--option", "maxRounds=3"], 2, "reserved for the engine");
    await expectRefusal(["fork", ended, "--edit", '{"role":"x"}'], 2, "--edit takes");
    await expectRefusal(["fork", ended, "--edit", "[]"], 2, "--edit takes");
    await expectRefusal(["fork", ended, "--at-step", "0", "--edit", '{"content":"x"}'], 2, "keep");
  });
});

describe("a storage root", () => {
  const refuse = async (root: string, message: string) => {
    for (const args of [["list"], ["run", "play"], ["threads"]]) {
      const { code, stdout, stderr } = await store.run([...args, "--root", root]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(/^error: [^\n]+\n$/);
      expect(stderr).toContain(message);
    }
  };

  test("that is a file is refused", async () => {
    await refuse(join(files, "broken.esm.js"), "is not a folder");
  });

  test("that does not exist is empty, and reading it creates nothing", async () => {
    const fresh = new Store();
    for (const command of ["list", "threads", "ps"]) {
      expect(await fresh.json<unknown>([command])).toEqual([]);
    }
    expect(fresh.tree()).toEqual({});
  });

  test("that is named but does not exist is reported by commands that find nothing in it", async () => {
    const nowhere = join(files, "nowhere");
    const missing = `hint: no storage root ${nowhere} found: check --root`;
    for (const args of [
      ["run", "play"],
      ["show", "play"],
      ["resume", ended],
      ["follow", "@last"],
    ]) {
      await expectRefusal([...args, "--root", nowhere], 4, missing);
    }
    const listed = await store.run(["threads", "--root", nowhere]);
    expect(listed).toMatchObject({ code: 0, stdout: "" });
    expect(listed.stderr).toEndWith(`the storage root ${nowhere} does not exist yet\n`);
    const env = { UNCAGED_WORKFLOW_STORAGE_ROOT: nowhere };
    const { stderr } = await store.run(["run", "play"], { env });
    expect(stderr).toContain("check UNCAGED_WORKFLOW_STORAGE_ROOT");
  });

  test("with a broken registry is reported with the line, and add does not overwrite the registry", async () => {
    const broken = new Store();
    mkdirSync(broken.root, { mode: 0o700 });
    writeFileSync(join(broken.root, "workflow.yaml"), "workflows:\n  a: [\n", { mode: 0o600 });
    const before = broken.tree();
    const bundle = join(import.meta.dir, "bundle/play.esm.js");
    for (const args of [["list"], ["show", "a"], ["run", "a"], ["add", "a", bundle]]) {
      const { code, stderr } = await broken.run(args);
      expect(code).toBe(1);
      expect(stderr).toMatch(/^error: \S+workflow\.yaml:\d+:\d+: [^\n]+\n$/);
    }
    expect(broken.tree()).toEqual(before);
  });

  test("must be named if there is no home directory", async () => {
    const { code, stderr } = await store.run(["list"], {
      env: { HOME: "", UNCAGED_WORKFLOW_STORAGE_ROOT: "" },
    });
    expect(code).toBe(2);
    expect(stderr).toMatch(/^error: .*HOME[^\n]*\n$/);
  });
});

describe("a log by another program, with a value nested too deeply to show,", () => {
  for (const command of ["thread", "follow", "diff"]) {
    test(`makes ${command} fail with an error, not with a bug report`, async () => {
      const deep = `${ended.slice(0, -1)}${ended.endsWith("0") ? "1" : "0"}`;
      const [log] = Object.keys(store.tree()).filter((path) =>
        path.endsWith(`${ended}.data.jsonl`),
      );
      const path = join(store.root, log as string);
      const [start = ""] = readFileSync(path, "utf8").split("\n");
      const { sum: _, ...parameters } = { ...JSON.parse(start), threadId: deep };
      const nested = "[".repeat(200_000) + "]".repeat(200_000);
      const step = `{"role":"a","content":"","meta":{"deep":${nested}},"timestamp":1}`;
      writeFileSync(
        path.replace(ended, deep),
        `${JSON.stringify(parameters)}\n${step}\n${step.replace('"role":"a"', '"role":"b"')}\n`,
      );
      const args = command === "diff" ? [ended] : ["--json"];
      const { code, stdout, stderr } = await store.run([command, deep, ...args]);
      expect(`${stdout}${stderr}`).toContain("nested too deeply to be shown");
      expect(stderr).not.toContain("bug");
      expect(code).toBe(1);
    });
  }
});

describe("empty input", () => {
  test("from stdin or a file is refused as a prompt or an answer", async () => {
    const empty = join(files, "empty.esm.js");
    for (const args of [
      ["run", "play", "--prompt", "-"],
      ["run", "play", "--prompt-file", empty],
      ["resume", "@last", "--input", "-"],
    ]) {
      await expectRefusal(args, 2, "is empty");
    }
    expect((await store.run(["run", "play", "--prompt", "", "--wait"])).code).toBe(0);
  });
});

test("an unknown command and its help are refused with a suggestion", async () => {
  for (const args of [["help", "rnu"], ["rnu", "--help"], ["rnu"]]) {
    await expectRefusal(args, 2, "unknown command 'rnu'; hint: did you mean run?");
  }
});

test("a JavaScript file that is not named as a bundle is refused, and the hint gives the names", async () => {
  for (const ending of ["js", "mjs", "cjs", "jsx"]) {
    writeFileSync(join(files, `review.${ending}`), "export {};");
    const wanted =
      "rename it to review.ts to have it built, or to review.esm.js if it is already a bundle";
    await expectRefusal(["add", "x", `review.${ending}`], 2, wanted);
  }
});
