import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import published from "../../schema/project.schema.json";
import { isWorkflowError, type WorkflowError } from "../contract/error.ts";
import { findProject } from "./project.ts";
import { projectSchema } from "./schema.ts";

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "project-")));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, content: unknown): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

const found = (name = "") => findProject(join(folder, name), { HOME: "/nobody" });

async function refusal(name = ""): Promise<WorkflowError> {
  try {
    await found(name);
  } catch (error) {
    if (isWorkflowError(error)) return error;
    throw error;
  }
  throw new Error("the project was not refused");
}

test("the published schema is `projectSchema`, and accepts the same files as the reader", async () => {
  const hint = "bun scripts/schema.ts && bun run format";
  const schema: object = projectSchema;
  expect({ hint, schema }).toEqual({ hint, schema: published });
  const fits = new Ajv2020({ strict: true }).compile(published);
  const given: unknown[] = [
    ...[{}, { root: "x", env: [], workflows: {} }, { $schema: "./it.json", env: [".env", "b"] }],
    { workflows: { review: "review.ts", "a.b-c_1": "x.json" } },
    ...[[], "x", null, { roots: "x" }, { root: "" }, { root: 1 }, { env: ".env" }, { env: [""] }],
    ...[{ host: "restate://a:1" }, { host: "restates://a" }, { host: "http://a" }, { host: 1 }],
    ...[{ workflows: [] }, { workflows: { "a b": "x" } }, { workflows: { a: 1 } }],
    ...[{ limits: {} }, { limits: { costPerDay: 0.5, costPerMonth: 20 } }, { limits: 5 }],
    ...[{ limits: { costPerDay: 0 } }, { limits: { costPerDay: "5" } }, { limits: { perDay: 5 } }],
  ];
  for (const fields of given) {
    write("uncaged.json", fields);
    const isTaken = await found().then(
      () => true,
      () => false,
    );
    expect({ fields, fits: fits(fields) }).toEqual({ fields, fits: isTaken });
  }
});

describe("a project", () => {
  test("is the folder with an uncaged.json, which may be empty", async () => {
    const file = write("uncaged.json", {});
    expect(await found()).toEqual({
      ...{ folder, file, root: join(folder, ".uncaged"), host: null },
      ...{ env: [join(folder, ".env")], workflows: {}, limits: {} },
    });
  });

  test("resolves the paths in its file from its folder", async () => {
    write("uncaged.json", {
      $schema: "./schema.json",
      root: "../elsewhere",
      host: "restate://cluster.internal",
      env: [".env", "/etc/shared.env"],
      workflows: { review: "src/review.ts" },
    });
    expect(await found()).toMatchObject({
      root: join(dirname(folder), "elsewhere"),
      host: "restate://cluster.internal",
      env: [join(folder, ".env"), "/etc/shared.env"],
      workflows: { review: join(folder, "src/review.ts") },
    });
  });

  test("may be declared in its package.json", async () => {
    const file = write("package.json", { name: "x", uncaged: { env: [] } });
    expect(await found()).toMatchObject({ file, env: [] });
    write("package.json", { dependencies: { uncaged: "1.0.0" } });
    expect(await found()).toBeNull();
    write("package.json", 'not JSON, and not about "us"');
    expect(await found()).toBeNull();
  });

  test("is found from the folders in it; the nearest project wins", async () => {
    write("uncaged.json", {});
    write("inner/uncaged.json", {});
    mkdirSync(join(folder, "a/b"), { recursive: true });
    mkdirSync(join(folder, "inner/c"));
    expect((await found("a/b"))?.folder).toBe(folder);
    expect((await found("inner/c"))?.folder).toBe(join(folder, "inner"));
    expect((await found("a/not/there"))?.folder).toBe(folder);
  });

  test("in the home folder itself has the user's storage root", async () => {
    write("uncaged.json", {});
    const project = await findProject(folder, { HOME: folder });
    expect(project?.root).toBe(join(folder, ".uncaged/workflow"));
  });

  test("may have a file that is a symbolic link", async () => {
    write("real.json", { env: ["a.env"] });
    mkdirSync(join(folder, "linked"));
    symlinkSync(join(folder, "real.json"), join(folder, "linked/uncaged.json"));
    expect((await found("linked"))?.env).toEqual([join(folder, "linked/a.env")]);
  });
});

describe("a project file is refused", () => {
  const wrong: [string, string, string][] = [
    [
      "that is not JSON",
      '{\n  "root": "x",\n}',
      '3:1: a key in double quotes is expected, not "}"',
    ],
    ["that is empty", "", "1:1: the file is empty"],
    ["that is not an object", "[]", "1:1: a project must be an object, not an array"],
    ["with an unknown key", '{\n  "workflow": {}\n}', '2:15: unknown key "workflow"; did'],
    [
      "with an unknown key unlike all known keys",
      '{"x": 1}',
      "use one of: $schema, root, host, env, workflows",
    ],
    ["with a duplicate key", '{"root": "a", "root": "b"}', '1:15: duplicate key "root"'],
    ["with a root that is not a path", '{"root": 1}', '1:10: "root" must be a path, not a number'],
    ["with an empty root", '{"root": ""}', '1:10: "root" must be a path, not ""'],
    ["with its own folder as the root", '{"root": "./"}', "1:10: the storage root can't be"],
    ["with a folder above it as the root", '{"root": ".."}', "1:10: the storage root can't be"],
    [
      "with a host that is not the URL of a cluster",
      '{"host": "cluster:1"}',
      '1:10: "host" must be the URL',
    ],
    ["with an env that is not an array", '{"env": ".env"}', '"env" must be an array of files, not'],
    [
      "with an env of values that are not paths",
      '{"env": [".env", {}]}',
      '1:18: "env.1" must be a path',
    ],
    ["with workflows that are not an object", '{"workflows": ["a.ts"]}', "not an array"],
    ["with an invalid name", '{"workflows": {"-x": "a"}}', '1:22: invalid workflow name "-x"'],
    [
      "with a source that is not a path",
      '{"workflows": {"x": null}}',
      '"workflows.x" must be a path',
    ],
    ["with limits that are not an object", '{"limits": 20}', '"limits" must be an object, not 20'],
    [
      "with a negative limit",
      '{"limits": {"costPerDay": -1}}',
      "US dollars above 0, such as 20, not",
    ],
    [
      "with a limit that is a text",
      '{"limits": {"costPerDay": "20"}}',
      '1:27: "limits.costPerDay"',
    ],
    ["with an unknown limit", '{"limits": {"costPerWeek": 1}}', 'unknown key "costPerWeek"'],
    ["with limits on a cluster", '{"host": "restate://a", "limits": {}}', "not to a cluster"],
    ["with the key __proto__", '{"__proto__": {}}', 'unknown key "__proto__"'],
    ["that is nested too deeply", "[".repeat(100_000), "it is nested more than 500 deep"],
  ];
  test.each(wrong)("%s", async (_what, text, message) => {
    const file = write("uncaged.json", text);
    const error = await refusal();
    expect(error.code).toBe("PROJECT_INVALID");
    expect(error.message).toContain(message);
    expect(error.message).toStartWith(`${file}:`);
    expect(error.message).not.toContain("\n");
  });

  test("with all of its problems, in the order of the file", async () => {
    write("uncaged.json", '{"env": 1,\n"root": 2,\n"envs": 3}');
    const lines = (await refusal()).details?.map((line) => line.replace(/^[^:]*:/, ""));
    expect(lines?.map((line) => line.split(":")[0])).toEqual(["1", "2", "3"]);
  });

  test("in a package.json, with its line there", async () => {
    const file = write("package.json", '{\n"name": "x",\n"uncaged": {\n"roots": "a"\n}\n}');
    expect((await refusal()).message).toStartWith(`${file}:4:10: unknown key "roots"`);
  });

  test("when the same folder has a second project", async () => {
    write("uncaged.json", {});
    write("package.json", { uncaged: {} });
    expect((await refusal()).message).toContain("found both");
  });

  test("that is not a regular file, is too large or is not UTF-8", async () => {
    mkdirSync(join(folder, "a/uncaged.json"), { recursive: true });
    expect((await refusal("a")).code).toBe("NOT_A_FILE");
    Bun.spawnSync(["mkfifo", join(folder, "uncaged.json")]);
    expect((await refusal()).code).toBe("NOT_A_FILE");
    write("b/uncaged.json", " ".repeat(1024 * 1024 + 1));
    expect((await refusal("b")).code).toBe("FILE_TOO_LARGE");
    writeFileSync(write("c/uncaged.json", ""), Buffer.from([0xff, 0xfe]));
    expect((await refusal("c")).code).toBe("NOT_A_TEXT");
  });

  test.if(process.geteuid?.() === 0)("that belongs to another user", async () => {
    const file = write("uncaged.json", {});
    for (let at = folder; at !== dirname(tmpdir()); at = dirname(at)) chmodSync(at, 0o755);
    chownSync(file, 12_345, 12_345);
    const program = `
      import { findProject } from ${JSON.stringify(join(import.meta.dir, "project.ts"))};
      process.setuid(65534);
      await findProject(process.argv[1]).catch(({ code }) => console.log(code));
    `;
    const { stdout } = Bun.spawnSync([process.execPath, "-e", program, folder]);
    expect(stdout.toString()).toBe("PROJECT_NOT_OURS\n");
  });
});
